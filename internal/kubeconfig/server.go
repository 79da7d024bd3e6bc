package kubeconfig

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// ServerURL parses the address of an API server. A path is allowed: a proxy in
// front of several clusters has one for each; a slash at its end is dropped. The
// error says what is wrong and does not repeat the address, which may hold a
// secret that went astray.
func ServerURL(server string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(server, "/"))
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		return nil, fmt.Errorf("is not a URL; want https://HOST[:PORT]")
	case u.Scheme != "https":
		return nil, errors.New("is no https URL; only https is allowed")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("holds more than https://HOST[:PORT][/PATH]")
	}
	return u, nil
}
