package github

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
)

// The variables that the runner sets for a job which may ask for id tokens.
// https://docs.github.com/en/actions/reference/security/oidc
const (
	requestURL   = "ACTIONS_ID_TOKEN_REQUEST_URL"
	requestToken = "ACTIONS_ID_TOKEN_REQUEST_TOKEN"
)

// maxIDToken bounds an answer, in bytes. Tokens are of 1 to 3 KiB.
const maxIDToken = 64 << 10

// idTokens is how id tokens are asked for.
type idTokens struct {
	client interface {
		Do(*http.Request) (*http.Response, error)
	}
	// tries is how often the service is asked, and limit what each try gets.
	tries int
	limit time.Duration
	// pause is at least half of what lies before the second try, and at most all
	// of it; it doubles with each. most bounds what the service may ask for.
	pause, most time.Duration
	// random returns a duration from 0 to the given one.
	random func(time.Duration) time.Duration
}

// newIDTokens returns how they are asked for over a network with these options.
func newIDTokens(o network.ClientOptions) idTokens {
	o.MaxBody = maxIDToken
	return idTokens{
		client: network.NewClient(o),
		tries:  3, limit: 15 * time.Second,
		pause: time.Second, most: 30 * time.Second,
		random: func(d time.Duration) time.Duration { return rand.N(d + 1) }, //nolint:gosec // nobody gains by guessing a pause
	}
}

// IDToken implements [host.IDTokens] by the runner's service for id tokens.
func (h *Host) IDToken(ctx context.Context, audience string) (string, error) {
	address, bearer, err := h.idTokenRequest(audience)
	if err != nil {
		return "", err
	}
	// Before it can be in anything that is sent or said.
	h.Mask(bearer)
	pause := h.idTokens.pause
	for try := 1; ; try++ {
		token, err := h.askForIDToken(ctx, address, bearer)
		if err == nil {
			h.Mask(token)
			return token, nil
		}
		if ctx.Err() != nil {
			return "", fmt.Errorf("%s: %w", askingForIDToken, context.Cause(ctx))
		}
		again, ok := errors.AsType[*temporaryError](err)
		if !ok {
			return "", err
		}
		if try == h.idTokens.tries {
			return "", &temporaryError{failure: again.failure.WithFix("It was tried %d times. %s", try, again.failure.Fix)}
		}
		wait := max(pause/2+h.idTokens.random(pause/2), again.after)
		if end, ok := ctx.Deadline(); ok && time.Until(end) <= wait {
			return "", again
		}
		h.Log(fmt.Sprintf("%s; trying again in %s", again.failure.Message, wait.Round(100*time.Millisecond)))
		if err := network.Sleep(ctx, wait); err != nil {
			return "", fmt.Errorf("%s: %w", askingForIDToken, err)
		}
		pause *= 2
	}
}

// temporaryError is one after which the same request may be answered.
type temporaryError struct {
	failure *failure.Error
	// after is how long the service asks to wait.
	after time.Duration
}

func (e *temporaryError) Error() string { return e.failure.Error() }
func (e *temporaryError) Unwrap() error { return e.failure }

// Temporary tells those who can wait for longer that it may pass.
func (*temporaryError) Temporary() bool { return true }

// idTokenRequest returns where and with what an id token is asked for.
func (h *Host) idTokenRequest(audience string) (address *url.URL, bearer string, err error) {
	text, bearer := h.getenv(requestURL), h.getenv(requestToken)
	switch {
	case text == "":
		return nil, "", notPermitted(requestURL)
	case bearer == "":
		return nil, "", notPermitted(requestToken)
	}
	// The address may be a secret where it has a query, so no error repeats it.
	address, err = url.Parse(text)
	if err != nil || address.Scheme != "https" || address.Hostname() == "" || address.User != nil {
		return nil, "", noIDToken("%s is not an https URL, and id tokens are only asked for over https", requestURL).
			WithFix("The runner sets it: do not set it in the workflow")
	}
	if strings.ContainsFunc(bearer, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, "", noIDToken("%s holds a character that no token has", requestToken).
			WithFix("The runner sets it: do not set it in the workflow")
	}
	// What is there already is left as it is.
	if address.RawQuery != "" {
		address.RawQuery += "&"
	}
	address.RawQuery += "audience=" + url.QueryEscape(audience)
	return address, bearer, nil
}

// askForIDToken asks once.
func (h *Host) askForIDToken(ctx context.Context, address *url.URL, bearer string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, h.idTokens.limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return "", noIDToken("the request cannot be written")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Authorization", "Bearer "+bearer)
	resp, err := h.idTokens.client.Do(req)
	if err != nil {
		return "", h.unanswered(address.Host, err)
	}
	defer func() { _ = resp.Body.Close() }()
	return h.idTokenOf(resp, address.Host)
}
