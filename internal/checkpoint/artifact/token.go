package artifact

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// identity is the run and the job as the results service calls them.
type identity struct{ run, job string }

// identityIn returns the identity that a runtime token is for. It stands in the
// claim scp, a list with spaces between, as Actions.Results:RUN:JOB. The signature
// is the service's to check.
func identityIn(token string) (identity, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return identity{}, false
	}
	data, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return identity{}, false
	}
	var claims struct {
		Scope string `json:"scp"`
	}
	if err := json.Unmarshal(data, &claims); err != nil {
		return identity{}, false
	}
	for scope := range strings.FieldsSeq(claims.Scope) {
		parts := strings.Split(scope, ":")
		if len(parts) == 3 && parts[0] == "Actions.Results" && parts[1] != "" && parts[2] != "" {
			return identity{parts[1], parts[2]}, true
		}
	}
	return identity{}, false
}
