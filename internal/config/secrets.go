package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
)

// unexpanded recognises what a workflow (${{ … }}), Azure Pipelines ($(name)) or a
// shell ($NAME, ${NAME}) would have put a value in place of.
var unexpanded = regexp.MustCompile(`\$\{\{|^\$(\([^()]*\)|\{[^{}]*\}|[A-Za-z_][A-Za-z0-9_]*)$`)

// checkSecret tells what a secret of one line plainly is not, without any of it.
func checkSecret(s string) error {
	switch {
	case unexpanded.MatchString(s):
		return errors.New("is the name of a value and not the value: an expression or variable that nothing has replaced")
	case strings.ContainsAny(s, "\r\n"):
		return fmt.Errorf("holds line ends; want one line, have %d bytes", len(s))
	}
	return nil
}

// parseKey checks a checkpoint-key. One with line ends arrives otherwise from one
// CI system than from another, and would be another key then.
func parseKey(s string) (string, error) {
	if err := checkSecret(s); err != nil {
		return "", err
	}
	_, err := checkpoint.NewKey(s)
	return s, err
}

// parseToken checks a github-token, which goes into a header: tokens are made of
// visible ASCII (RFC 6750, 2.1).
func parseToken(s string) (string, error) {
	if err := checkSecret(s); err != nil {
		return "", err
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return "", fmt.Errorf("has a character that no token has, byte %d", i+1)
		}
	}
	return s, nil
}
