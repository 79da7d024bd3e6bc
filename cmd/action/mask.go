package main

import (
	"encoding/base64"
	"strings"

	"k8s.io/client-go/rest"
)

// secrets returns everything in a connection that must not be seen, in each
// form in which it could be: a private key is one thing in a kubeconfig and
// another, line by line, in PEM. The lines around a PEM block are no secret.
func secrets(cfg *rest.Config) []string {
	var out []string
	for _, s := range []string{cfg.BearerToken, cfg.Password} {
		if s != "" {
			out = append(out, s, base64.StdEncoding.EncodeToString([]byte(s)))
		}
	}
	if len(cfg.KeyData) > 0 {
		out = append(out, base64.StdEncoding.EncodeToString(cfg.KeyData))
		for line := range strings.Lines(string(cfg.KeyData)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "-----") {
				out = append(out, line)
			}
		}
	}
	return out
}
