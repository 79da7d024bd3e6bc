package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// maxAudience bounds an audience, in bytes: that of a federated credential has
// at most 600 characters (Microsoft Graph, federatedIdentityCredential).
const maxAudience = 600

// A host is a DNS name or an IPv4 address: labels of at most 63 characters, 253
// in all (RFC 1123, 2.1).
var hostForm = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$`)

const maxHost = 253

// parseEndpoint returns the address of a service of Azure, https://host or
// https://host:port, in lower case and without a slash at the end. Errors do not
// tell the value, which may hold a password.
func parseEndpoint(s string) (string, error) {
	const want = "want https:// and a host"
	scheme, rest, found := strings.Cut(s, "://")
	switch {
	case !found:
		return "", errors.New("is no address; " + want)
	case !strings.EqualFold(scheme, "https"):
		return "", errors.New("is not an address that begins with https://; " + want)
	}
	rest = strings.TrimSuffix(rest, "/")
	switch {
	case strings.Contains(rest, "@"):
		return "", errors.New("holds a user; " + want + " alone")
	case strings.ContainsAny(rest, "/?#"):
		return "", errors.New("goes on after the host; " + want + " alone")
	}
	host, port, hasPort := strings.Cut(rest, ":")
	if !hostForm.MatchString(host) || len(host) > maxHost {
		return "", errors.New("has no host that can be one; " + want)
	}
	if n, err := strconv.ParseUint(port, 10, 16); hasPort && (err != nil || n == 0 || port[0] == '0') {
		return "", errors.New("has a port that is none; want a number from 1 to 65535")
	}
	return "https://" + strings.ToLower(rest), nil
}

// tokenForm recognises a JWT: the first of its parts is a JSON object in Base64.
var tokenForm = regexp.MustCompile(`^eyJ[A-Za-z0-9_-]*\.`)

// parseAudience returns the audience of an id token.
func parseAudience(s string) (string, error) {
	switch {
	case tokenForm.MatchString(s):
		return "", errors.New("holds a token, and wants the audience that one is to be for")
	case len(s) > maxAudience:
		return "", fmt.Errorf("has %d bytes; want at most %d", len(s), maxAudience)
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return "", fmt.Errorf("has a character that is not allowed, byte %d; want printable ASCII without spaces", i+1)
		}
	}
	return s, nil
}
