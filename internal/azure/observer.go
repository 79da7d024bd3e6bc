package azure

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// observer stands between the SDK and the network. It masks every credential in
// what is sent, and keeps a trail of what happened: the SDK makes texts of its
// errors, in which neither their kinds nor the id token's claims are left, but at
// times a part of an answer that nobody should see.
type observer struct {
	next policy.Transporter
	mask func(string)
}

// Do sends a request.
func (o *observer) Do(req *http.Request) (*http.Response, error) {
	trail := trailOf(req.Context())
	if _, token, ok := strings.Cut(req.Header.Get("Authorization"), " "); ok {
		o.mask(token)
	}
	assertion, err := assertionIn(req)
	if err != nil {
		return nil, err
	}
	if assertion != "" {
		o.mask(assertion)
		trail.presented(claimsOf(assertion))
	}
	resp, err := o.next.Do(req)
	trail.answered(req.URL, resp, err)
	return resp, err
}

// assertionIn returns the client assertion in a form that is about to be sent
// (RFC 7523), and leaves the form as it was.
func assertionIn(req *http.Request) (string, error) {
	kind, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if req.Body == nil || kind != "application/x-www-form-urlencoded" {
		return "", nil
	}
	body, err := io.ReadAll(req.Body)
	if closeErr := req.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return "", err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return "", nil //nolint:nilerr // Not our form, so no assertion of ours.
	}
	return form.Get("client_assertion"), nil
}

// trail is what happened on the way to a token, or in a call: the last of each.
type trail struct {
	mu sync.Mutex
	// claims are those of the id token that was presented.
	claims claims
	// host is who was asked, status what it answered, err why it did not, and
	// cause an error of our own that the SDK made a text of.
	host   string
	status int
	err    error
	cause  error
}

type trailKey struct{}

// withTrail returns a context whose requests leave a trail.
func withTrail(ctx context.Context) (context.Context, *trail) {
	t := &trail{}
	return context.WithValue(ctx, trailKey{}, t), t
}

// trailOf returns the context's trail, or one that nobody reads.
func trailOf(ctx context.Context) *trail {
	if t, ok := ctx.Value(trailKey{}).(*trail); ok {
		return t
	}
	return &trail{}
}

func (t *trail) presented(c claims) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.claims = c
}

func (t *trail) answered(to *url.URL, resp *http.Response, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.host, t.status, t.err, t.cause = to.Host, 0, err, nil
	if resp != nil {
		t.status = resp.StatusCode
	}
}

// blame notes an error that is the reason for what comes next.
func (t *trail) blame(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cause = err
}
