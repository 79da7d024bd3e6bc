package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// The types of watch events.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
const (
	eventAdded    = "ADDED"
	eventModified = "MODIFIED"
	eventDeleted  = "DELETED"
	eventBookmark = "BOOKMARK"
	eventError    = "ERROR"
)

// event is one thing that a watch delivered: an object, or its end.
type event struct {
	kind   string
	object contract.Object
	// ended says that this is the last one; err is why, nil when the server
	// ended the watch in good order.
	ended bool
	err   error
}

// stream is one watch request.
type stream struct {
	events <-chan event
	cancel context.CancelFunc
	// limit is when the server should have ended it long since.
	limit time.Duration
}

// watch asks for the events of one object from resourceVersion on.
func (c *Client) watch(ctx context.Context, r resource, namespace, name, resourceVersion string) *stream {
	seconds := int64(c.times.watch/time.Second) + 1
	seconds += rand.Int64N(seconds) //nolint:gosec // spreads load, guards nothing
	call := call{
		verb: "watch", resource: r, namespace: namespace, name: name,
		query: url.Values{
			"watch":               {"true"},
			"fieldSelector":       {"metadata.name=" + name},
			"resourceVersion":     {resourceVersion},
			"allowWatchBookmarks": {"true"},
			"timeoutSeconds":      {strconv.FormatInt(seconds, 10)},
		},
	}
	ctx, cancel := context.WithCancel(ctx)
	events := make(chan event)
	go func() {
		defer close(events)
		end := event{ended: true, err: c.receive(ctx, call, events)}
		select {
		case events <- end:
		case <-ctx.Done():
		}
	}()
	return &stream{events: events, cancel: cancel, limit: time.Duration(seconds)*time.Second + c.times.silence}
}

// close ends the watch, and returns when nothing of it is left.
func (s *stream) close() {
	s.cancel()
	for range s.events {
	}
}

// receive sends the request and hands its events on until the answer ends.
func (c *Client) receive(ctx context.Context, call call, events chan<- event) error {
	resp, x, err := c.send(ctx, ctx, call)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	frames := newFrames(resp.Body, c.maxObject)
	for {
		var frame struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		switch err := frames.next(&frame); {
		case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return c.transportError(ctx, ctx, call, x, 0, &cutError{"the watch", err})
		}
		if frame.Type == eventError {
			return c.frameError(call, frame.Object)
		}
		object, err := contract.ParseObject(frame.Object)
		if err != nil {
			return call.failed(oneshot.Unavailable, 0, fmt.Errorf("an event of the watch cannot be read: %w", err))
		}
		select {
		case events <- event{kind: frame.Type, object: object}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// frameError tells what an ERROR event means: it holds a Status like an answer
// of its own.
func (c *Client) frameError(call call, body []byte) error {
	status, ok := parseStatus(body)
	if !ok {
		return call.failed(oneshot.Unavailable, 0, errors.New("the watch ended with an error that cannot be read"))
	}
	err := c.statusMeaning(call, int(status.Code), status)
	err.RetryAfter = retryAfter(nil, status)
	return err
}

// expired reports whether the server no longer has the events since the
// resourceVersion that a watch was to start from (410 Gone).
// https://kubernetes.io/docs/reference/using-api/api-concepts/#410-gone-responses
func expired(err error) bool {
	var call *oneshot.CallError
	if !errors.As(err, &call) || call.Verb != "watch" {
		return false
	}
	reason := metav1.StatusReason(call.Reason)
	return call.Status == 410 || reason == metav1.StatusReasonExpired || reason == metav1.StatusReasonGone
}

// frames decodes a stream of JSON documents of bounded size.
type frames struct {
	decoder *json.Decoder
	limited *limitedReader
	max     int64
}

func newFrames(r io.Reader, limit int64) *frames {
	limited := &limitedReader{r: r}
	return &frames{decoder: json.NewDecoder(limited), limited: limited, max: limit}
}

// next decodes the next document. The error is io.EOF at the end of a stream
// that ends between documents.
func (f *frames) next(into any) error {
	f.limited.until = f.decoder.InputOffset() + f.max
	return f.decoder.Decode(into)
}

var errFrameSize = errors.New("an event is too large")

// limitedReader reads up to a place in the stream that moves on.
type limitedReader struct {
	r         io.Reader
	at, until int64
}

func (l *limitedReader) Read(p []byte) (int, error) {
	if l.at >= l.until {
		return 0, errFrameSize
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.until-l.at)])
	l.at += int64(n)
	return n, err
}
