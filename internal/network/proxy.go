package network

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
)

// ProxyFunc chooses the proxy for a request, as in [http.Transport]; nil is none.
type ProxyFunc = func(*http.Request) (*url.URL, error)

// ErrProxyAddress says that a proxy's address cannot be used. It stands for the
// error that repeats the address, which may hold a password.
var ErrProxyAddress = errors.New("the address of the proxy (HTTPS_PROXY) is not a URL of the form http://USER:PASSWORD@HOST:PORT, " +
	"in which a password has %2F for /, %3F for ?, %23 for #, %25 for % and %40 for @")

// Proxy returns a function that chooses as the given one, or as the environment
// says when that is nil (HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in either case).
// Its only error is [ErrProxyAddress].
func Proxy(choose ProxyFunc) ProxyFunc {
	if choose == nil {
		choose = fromEnvironment
	}
	return func(req *http.Request) (*url.URL, error) {
		u, err := choose(req)
		if err != nil || u != nil && !isProxy(u) {
			return nil, ErrProxyAddress
		}
		return u, nil
	}
}

// fromEnvironment is [http.ProxyFromEnvironment], which takes an address that it
// cannot read for none: what was to go through a proxy would go past it.
func fromEnvironment(req *http.Request) (*url.URL, error) {
	if req.URL.Scheme == "https" && !readable(cmp.Or(os.Getenv("HTTPS_PROXY"), os.Getenv("https_proxy"))) {
		return nil, ErrProxyAddress
	}
	return http.ProxyFromEnvironment(req)
}

// readable reports whether an address of a proxy is one, with a scheme or without.
func readable(address string) bool {
	if _, err := url.Parse(address); err == nil {
		return true
	}
	_, err := url.Parse("http://" + address)
	return err == nil
}

// isProxy reports whether an address has nothing after its host. One that has is
// cut up where a password holds what it must not, and what is taken for the host
// is a part of the password, which would be looked up, and shown when there is no
// such host.
func isProxy(u *url.URL) bool {
	return (u.Path == "" || u.Path == "/") && u.RawQuery == "" && u.Fragment == ""
}

// ProxyError is a proxy's answer other than 200 when it was asked for a
// connection (CONNECT, RFC 9110, section 9.3.6).
type ProxyError struct {
	// Status is the HTTP status.
	Status int
}

// Error tells the answer; what it was to be a connection to is left to the
// caller.
func (e *ProxyError) Error() string {
	return "the proxy answered " + statusText(e.Status) + " when asked for a connection"
}

// checkProxy is a transport's OnProxyConnectResponse.
func checkProxy(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode != http.StatusOK {
		return &ProxyError{resp.StatusCode}
	}
	return nil
}
