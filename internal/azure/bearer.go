package azure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// bearer is a transport that puts a present token into each request.
type bearer struct {
	tokens *tokens
	next   http.RoundTripper
}

// RoundTrip sends the request with a token. When the server does not know who
// that is (401), it sends it once more with a token that nobody had before. The
// server has done nothing about a request that it answers in that way, a create
// neither.
func (b *bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := drain(req.Body)
	if err != nil {
		return nil, fmt.Errorf("reading what is to be sent: %w", err)
	}
	token, err := b.tokens.present(req.Context())
	if err != nil {
		return nil, notHad(err)
	}
	resp, err := b.next.RoundTrip(authorized(req, body, token.Token))
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	fresh, err := b.tokens.replace(req.Context(), token.Token)
	if err == nil && fresh.Token == token.Token {
		return resp, nil // It is as fresh as it gets: the answer counts.
	}
	// What is left of the answer is read so that its connection can be used again.
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrain)
	_ = resp.Body.Close()
	if err != nil {
		return nil, notHad(err)
	}
	return b.next.RoundTrip(authorized(req, body, fresh.Token))
}

// waitingError is a request that was never sent, since its token has not come, or
// may yet come.
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

// maxDrain is the most of an answer that it pays to read for its connection.
const maxDrain = 64 << 10

// drain reads what is to be sent, so that it can be sent twice.
func drain(body io.ReadCloser) ([]byte, error) {
	if body == nil || body == http.NoBody {
		return nil, nil
	}
	data, err := io.ReadAll(body)
	if closeErr := body.Close(); err == nil {
		err = closeErr
	}
	return data, err
}

// authorized returns a copy of the request, as a transport may not change the one
// it is given. The copy has no GetBody: with one, the transport would repeat the
// request by itself in cases in which a create must not be.
func authorized(req *http.Request, body []byte, token string) *http.Request {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		req.Body = io.NopCloser(bytes.NewReader(body))
		req.GetBody = nil
	}
	return req
}
