package azure

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aks-oneshot/aks-oneshot/internal/network"
)

// observer stands between the SDK and the network. It masks every credential in
// what is sent, and keeps a trail of what happened: the SDK makes texts of its
// errors, in which neither their kinds nor the id token's claims are left, but at
// times a part of an answer that nobody should see.
type observer struct {
	remote policy.Transporter
	// local is for the endpoint that gives a machine its own identity; nil where
	// there is no such thing.
	local policy.Transporter
	mask  func(string)
}

var _ policy.Transporter = (*observer)(nil)

// localDial is how long it may take to connect to an endpoint of this very
// machine. Where there is none, nothing answers at all.
const localDial = 2 * time.Second

// newObserver returns one for the identity's requests.
func newObserver(o Options, mask func(string)) *observer {
	remote := &observer{remote: network.NewClient(o.network), mask: mask}
	if o.Auth == ManagedIdentity {
		local := o.network
		local.Local, local.Dial = true, localDial
		remote.local = network.NewClient(local)
	}
	return remote
}

// Do sends a request and reads its answer to the end, which is bounded. An error
// that no repetition mends is marked, for the SDK, which repeats requests, too.
func (o *observer) Do(req *http.Request) (*http.Response, error) {
	trail := trailOf(req.Context())
	o.maskHeader(req.Header)
	form, err := formIn(req)
	if err != nil {
		return nil, err
	}
	if assertion := form.Get("client_assertion"); assertion != "" {
		o.mask(assertion)
		trail.presented(claimsOf(assertion))
	}
	resp, body, err := o.whole(req)
	if err != nil {
		cause := network.CauseOf(err)
		if !cause.Temporary() || (o.isLocal(req) && cause.Dialing) {
			err = &lasting{err}
		}
		trail.failed(req.URL.Host, err)
		return nil, err
	}
	trail.answered(answer{host: req.URL.Host, status: resp.StatusCode, header: resp.Header, body: body})
	return resp, nil
}

func (o *observer) isLocal(req *http.Request) bool { return o.local != nil && req.URL.Scheme == "http" }

func (o *observer) whole(req *http.Request) (*http.Response, []byte, error) {
	by := o.remote
	if o.isLocal(req) {
		by = o.local
	}
	resp, err := by.Do(req)
	if err != nil {
		return nil, nil, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // It was read to its end, or is of no use.
	if err != nil {
		return nil, nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, body, nil
}

// maskHeader masks what a header proves an identity by. The names other than
// Authorization are those of the endpoints of App Service and of machine
// learning.
func (o *observer) maskHeader(header http.Header) {
	if _, credential, ok := strings.Cut(header.Get("Authorization"), " "); ok {
		o.mask(credential)
	}
	for _, name := range []string{"X-Identity-Header", "Secret"} {
		if value := header.Get(name); value != "" {
			o.mask(value)
		}
	}
}

// formIn returns the form that is about to be sent (RFC 7523 has the assertion in
// one), and leaves it as it was.
func formIn(req *http.Request) (url.Values, error) {
	kind, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if req.Body == nil || kind != "application/x-www-form-urlencoded" {
		return nil, nil
	}
	body, err := io.ReadAll(req.Body)
	if closeErr := req.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, nil //nolint:nilerr // Not our form, so no assertion of ours.
	}
	return form, nil
}

// lasting is an error that a repetition does not mend.
type lasting struct{ err error }

func (e *lasting) Error() string { return e.err.Error() }

func (e *lasting) Unwrap() error { return e.err }

// NonRetriable tells the SDK.
func (*lasting) NonRetriable() {}
