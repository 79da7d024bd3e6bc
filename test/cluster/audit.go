package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/cluster/internal/control"
)

// AuditEvent is one request as the API server saw it.
type AuditEvent struct {
	Time        time.Time // when the stage was reached
	Stage       string    // ResponseComplete, ResponseStarted (watches and logs that go on), or Panic
	User        string
	UserAgent   string
	Verb        string
	Resource    string
	Subresource string
	Namespace   string
	Name        string
	Code        int // 0 when the server did not get so far as to answer
	RequestURI  string
}

// auditLine is an event as the API server writes it.
type auditLine struct {
	Stage          string
	StageTimestamp time.Time
	RequestURI     string
	Verb           string
	UserAgent      string
	User           struct{ Username string }
	ObjectRef      struct{ Resource, Subresource, Namespace, Name string }
	ResponseStatus struct{ Code int }
}

const auditMarker = "/readyz?audit-marker="

// Audit returns the requests that the filter takes (nil takes all), in the
// order in which they ended. While the API server answers, the result has every
// request that had been answered before the call.
func (c *Cluster) Audit(ctx context.Context, filter func(AuditEvent) bool) ([]AuditEvent, error) {
	path := filepath.Join(c.Dir(), control.AuditFile)
	// A client can have its answer before the event is written. A request of our
	// own, whose event comes later, shows that the others are there.
	marker := auditMarker + rand.Text()
	if err := c.mark(ctx, marker); err == nil {
		if err := c.waitInAudit(ctx, path, marker); err != nil {
			return nil, err
		}
	}
	return c.audit.read(path, filter)
}

// auditLog remembers what was read of an audit log, which only grows. Reading
// all of it for each question would be most of what a large test does.
type auditLog struct {
	mu      sync.Mutex
	offset  int64
	events  []AuditEvent
	markers map[string]bool
}

// read takes in what is new and returns the events that the filter takes.
func (l *auditLog) read(path string, filter func(AuditEvent) bool) ([]AuditEvent, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.update(path); err != nil {
		return nil, err
	}
	var found []AuditEvent
	for _, e := range l.events {
		if filter == nil || filter(e) {
			found = append(found, e)
		}
	}
	return found, nil
}

// marked takes in what is new and reports whether a marker is there.
func (l *auditLog) marked(path, marker string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.update(path)
	return l.markers[marker], err
}

// update leaves a last line that is still being written for the next time.
func (l *auditLog) update(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, l.offset, math.MaxInt64-l.offset))
	if err != nil {
		return err
	}
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	for line := range bytes.Lines(b) {
		if err := l.add(line); err != nil {
			return err
		}
	}
	l.offset += int64(len(b))
	return nil
}

func (l *auditLog) add(line []byte) error {
	var a auditLine
	if err := json.Unmarshal(line, &a); err != nil {
		return fmt.Errorf("could not read the audit log: %w: %.200q", err, line)
	}
	if strings.HasPrefix(a.RequestURI, auditMarker) {
		if l.markers == nil {
			l.markers = map[string]bool{}
		}
		l.markers[a.RequestURI] = true
		return nil
	}
	l.events = append(l.events, AuditEvent{
		Time: a.StageTimestamp, Stage: a.Stage, User: a.User.Username, UserAgent: a.UserAgent, Verb: a.Verb,
		Resource: a.ObjectRef.Resource, Subresource: a.ObjectRef.Subresource,
		Namespace: a.ObjectRef.Namespace, Name: a.ObjectRef.Name,
		Code: a.ResponseStatus.Code, RequestURI: a.RequestURI,
	})
	return nil
}

// mark makes one request; a server that is stopped or paused gets none.
func (c *Cluster) mark(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	pem, err := os.ReadFile(c.CAFile())
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Server()+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.Token(Admin))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (c *Cluster) waitInAudit(ctx context.Context, path, marker string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		if there, err := c.audit.marked(path, marker); there || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the API server answers but writes nothing to %s: %w", path, context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
}
