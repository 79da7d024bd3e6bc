package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// What an argument, a variable or a purpose may be is the dialect's to say. It
// tells the first thing that is wrong with a whole request; to tell a user all
// of them at once it is asked here about one thing at a time.

// checkList returns the texts of arguments, each checked.
func checkList(p *problems, input string, lines []line) []string {
	var out []string
	for _, l := range lines {
		if err := contract.CheckArgument(l.text); err != nil {
			p.add(input, "%s %w", l.at(), err)
		}
		out = append(out, l.text)
	}
	return out
}

// checkEnvironment returns variables by name, each checked.
func checkEnvironment(p *problems, input string, lines map[string]line) map[string]string {
	out := map[string]string{}
	order := slices.SortedFunc(maps.Keys(lines), func(a, b string) int {
		return cmp.Or(cmp.Compare(lines[a].n, lines[b].n), cmp.Compare(a, b))
	})
	for _, name := range order {
		l := lines[name]
		out[name] = l.text
		if err := contract.CheckVariable(name, l.text); err != nil {
			e, at := asFailure(err), l.at()
			if !strings.HasPrefix(e.Message, `"`) { // what is no name is told in quotes already
				at += ": " + name
			}
			p.add(input, "%s: %s", at, e.Message).Fix = e.Fix
		}
	}
	return out
}

// checkPurpose makes sure that the Job's name, and those of the successors,
// can be built.
func checkPurpose(p *problems, q contract.Request, successors []map[string]string) {
	if q.Purpose == (contract.Label{}) || p.with(purpose) {
		return
	}
	if err := contract.CheckPurpose(q.Purpose); err != nil {
		p.add(purpose, "%w", err)
		return
	}
	for i := range successors {
		next, err := q.Successor(i+1, nil)
		if next.Purpose != (contract.Label{}) {
			// Whatever else is wrong with the request is told elsewhere.
			err = contract.CheckPurpose(next.Purpose)
		}
		if err != nil {
			p.add(purpose, "with the suffix of successor %d: %s", i+1, asFailure(err).Message)
			return
		}
	}
}
