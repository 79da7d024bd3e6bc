package cluster

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/aks-oneshot/aks-oneshot/internal/escape"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
	"github.com/aks-oneshot/aks-oneshot/internal/secret"
)

// WithMask sets a function that is told each credential before it is first used,
// one that is renewed later among them, in each form in which it could be shown.
// It is not called concurrently.
func WithMask(mask func(secret string)) Option {
	return func(c *Client, _ *rest.Config) { c.mask = mask }
}

// learn has texts hidden from now on.
func (c *Client) learn(secrets ...string) {
	// Nobody goes on with a credential that somebody else is still masking.
	c.maskMu.Lock()
	defer c.maskMu.Unlock()
	for _, s := range secrets {
		if len(c.secrets.Add(s)) > 0 && c.mask != nil {
			c.mask(s)
		}
	}
}

// learnSent learns the credential of a request that is about to be sent: the one
// of a token file is another one after a while.
func (c *Client) learnSent(req *http.Request) {
	_, credential, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	c.learn(credential)
	if _, password, ok := req.BasicAuth(); ok {
		c.learn(password)
	}
}

// credentials returns everything in a connection to base that must not be seen,
// in each form in which it could be: a private key is one thing in a kubeconfig
// and another, line by line, in PEM. The lines around a PEM block are no secret.
func credentials(cfg *rest.Config, base *url.URL) []string {
	var out []string
	for _, s := range []string{cfg.BearerToken, cfg.Password} {
		if s != "" {
			out = append(out, s, base64.StdEncoding.EncodeToString([]byte(s)))
		}
	}
	if cfg.Password != "" {
		out = append(out, base64.StdEncoding.EncodeToString([]byte(cfg.Username+":"+cfg.Password)))
	}
	if len(cfg.KeyData) > 0 {
		out = append(out, base64.StdEncoding.EncodeToString(cfg.KeyData))
		for line := range strings.Lines(string(cfg.KeyData)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "-----") {
				out = append(out, line)
			}
		}
	}
	if proxy, err := network.Proxy(cfg.Proxy)(&http.Request{URL: base}); err == nil && proxy != nil {
		out = append(out, secret.OfAddress(proxy.String())...)
	}
	return out
}

// clean makes one short line of a text that others wrote. The client's own
// credentials are taken out first: a part of one would not be known for it.
func (c *Client) clean(text string, limit int) string {
	return escape.Line(c.secrets.Hide(text), limit)
}

// foreign is clean for a body that is not the API server's, such as a proxy's
// page.
func (c *Client) foreign(body []byte) string {
	return c.clean(escape.Page(c.secrets.Hide(string(body))), maxForeign)
}
