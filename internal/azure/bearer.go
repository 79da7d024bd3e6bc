package azure

import (
	"context"
	"errors"
	"net/http"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// bearer is a transport that puts a present token into each request.
type bearer struct {
	tokens *tokens
	next   http.RoundTripper
}

// RoundTrip sends the request with a token. When the server does not know who
// that is (401), it sends it once more with a token that nobody had before.
//
// A request that has an effect is sent with a token that is at hand, or not at
// all, and never twice: whoever sends it decides whether it may be sent after a
// wait. Waiting is done all the same, so that the next try finds a token.
func (b *bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	once := req.Method != http.MethodGet && req.Method != http.MethodHead
	token, waited, err := b.tokens.present(ctx)
	if err == nil && once && waited {
		err = &waitingError{text: waiting + ": there is one now, and this request may be too late"}
	}
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // as a RoundTripper has to, and nothing was read
		}
		return nil, notHad(err)
	}
	resp, err := b.next.RoundTrip(authorized(req, token.Token))
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	if once && b.tokens.replaced(token.Token) {
		return resp, nil // Another one would not be taken either.
	}
	fresh, err := b.tokens.replace(ctx, token.Token)
	if err == nil && fresh.Token == token.Token {
		return resp, nil // It is as fresh as it gets: the answer counts.
	}
	if err == nil && once {
		err = &waitingError{text: waiting + ": the API server did not take the one it had (HTTP 401), and did nothing; there is another one now"}
	}
	_ = resp.Body.Close() // It may have no end, so it is not read.
	if err != nil {
		return nil, notHad(err)
	}
	return b.next.RoundTrip(authorized(req, fresh.Token))
}

// waitingError is a request that had no effect, since its token has not come, or
// had to be waited for.
type waitingError struct {
	text string
	err  error
}

func (e *waitingError) Error() string { return e.text }

func (e *waitingError) Unwrap() error { return e.err }

// Waiting says what for. Who sends the request knows by it that the server is not
// at fault.
func (*waitingError) Waiting() string { return waiting }

const waiting = "waiting for a token of Entra"

// refusedError is a token that is not to be had. It has the failure's code, which
// is not in its text: whoever tells the request's failure puts one before it.
type refusedError struct{ failure *failure.Error }

func (e *refusedError) Error() string { return e.failure.Text() }

func (e *refusedError) Unwrap() error { return e.failure }

// notHad tells why there is no token for a request. Only what lasts has a code: a
// code ends the run, and a token that cannot be had for a while does not end the
// Job.
func notHad(err error) error {
	failed, ok := errors.AsType[*tokenError](err)
	if _, is := errors.AsType[*waitingError](err); is {
		return err
	}
	switch {
	case ok && failed.Temporary():
		return &waitingError{text: failed.failure.Text()}
	case ok:
		return &refusedError{failed.failure}
	case errors.Is(err, context.DeadlineExceeded):
		return &waitingError{waiting + ": it had not come when the time that a request gets was up", err}
	}
	return &waitingError{waiting + ": " + err.Error(), err}
}

// authorized returns a copy of the request, as a transport may not change the one
// it is given. The copy has no GetBody: with one, the transport would repeat the
// request by itself in cases in which a create must not be.
func authorized(req *http.Request, token string) *http.Request {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+token)
	req.GetBody = nil
	return req
}
