package cluster

import (
	"errors"
	"regexp"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

const (
	// maxMessage bounds a message of the API server, in characters: a policy's
	// refusal fits, a list of all violations of a large object does not.
	maxMessage = 1024
	// maxForeign bounds a text that is not the API server's.
	maxForeign = 200
)

// inShort tells of a call that is tried again. Of a credential that could not be had,
// which is told with all that can be done about it, only the first sentence is told:
// if it lasts, the run ends with the whole of it.
func inShort(call *oneshot.CallError) string {
	_, late := errors.AsType[waiting](call.Err)
	_, coded := errors.AsType[*failure.Error](call.Err)
	if !late && !coded {
		return call.Error()
	}
	short := *call
	sentence, _, _ := strings.Cut(call.Err.Error(), ". ")
	short.Err = errors.New(strings.TrimSuffix(sentence, "."))
	return short.Error()
}

// passing finds what is another one in each answer that says the same: the ids and
// times by which Azure finds an answer again.
var passing = regexp.MustCompile(`\b[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b|\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z?`)

// gist is a text without them.
func gist(text string) string { return passing.ReplaceAllString(text, "*") }
