package main

import (
	"regexp"
	"testing"
)

// Whoever asks GitHub how subjects begin asks whether they are its usual ones too, and
// stops where they are not: what would be trusted else begins with nothing.
func TestFederationPageLooksAtTheKindOfSubject(t *testing.T) {
	t.Parallel()
	page := readFile(t, federationPage)
	asked := regexp.MustCompile(`(?m)^prefix=.*\\\n.*|^prefix=\$\(gh .*`).FindAllString(page, -1)
	if len(asked) != 2 {
		t.Errorf("the page asks %d times: %q", len(asked), asked)
	}
	for _, command := range asked {
		if !regexp.MustCompile(`--jq 'if \.use_default then \.sub_claim_prefix // "" else "" end'\)`).MatchString(command) {
			t.Errorf("takes the prefix of subjects that are not the usual ones: %s", command)
		}
	}
	if stops := regexp.MustCompile(`(?m)^if \[ -z "\$prefix" \]; then\n.*\n\s+exit 1$`).FindAllString(page, -1); len(stops) != len(asked) {
		t.Errorf("the page stops %d times, and asks %d times", len(stops), len(asked))
	}
}
