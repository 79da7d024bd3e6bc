package config

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// whichGUID says, for each input that is a GUID, what people give in its place
// and where the right one is found.
var whichGUID = map[string]string{
	tenantID:          "It is what az account show --query tenantId prints; a domain name will not do",
	subscriptionID:    "It is what az account show --query id prints; a name will not do",
	clientID:          "It is the application (client) id of the app registration or managed identity; no client secret is needed",
	serviceConnection: "It is the resourceId in the address of the service connection's page; a name will not do",
}

// readGUID returns an input that is a GUID, or zero when it has no value or is
// none.
func readGUID(p *problems, v values, input string) contract.GUID {
	if !v.given(input) {
		return contract.GUID{}
	}
	id, err := parseGUID(v.text(input))
	if err != nil {
		p.add(input, "%w", err).Fix = whichGUID[input]
	}
	return id
}

var undashed = regexp.MustCompile(`^[0-9A-Fa-f]{32}$`)

// parseGUID returns s, in any case, as a GUID. What is none may be a secret that
// went astray, such as the client secret beside the client id in a portal: the
// error does not tell it.
func parseGUID(s string) (contract.GUID, error) {
	id, err := contract.ParseGUID(s)
	if err == nil {
		return id, nil
	}
	const want = "want 8-4-4-4-12 hexadecimal digits"
	if _, err := contract.ParseGUID(strings.Trim(s, `{}"'`)); err == nil {
		return id, fmt.Errorf("is a GUID with something around it; %s and nothing else", want)
	}
	if undashed.MatchString(s) {
		return id, fmt.Errorf("is a GUID without dashes; %s", want)
	}
	return id, fmt.Errorf("is not a GUID: it has %d bytes, %s", len(s), want)
}
