package config

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// What an argument, a variable or a purpose may be is the dialect's to say. It
// tells the first thing that is wrong with a whole request; to tell a user all
// of them at once it is asked here about one thing at a time.

// probe returns a request with nothing wrong in it.
func probe() contract.Request {
	label, errLabel := contract.ParseLabel("x")
	image, errImage := contract.ParseImage("x/x@sha256:" + strings.Repeat("0", 64))
	if errLabel != nil || errImage != nil {
		panic("config: the probe is no valid request")
	}
	return contract.Request{
		Namespace: label, Template: label, Purpose: label, ServiceAccount: label, Container: label,
		Image: image, Command: []string{"x"},
	}
}

// checkList returns the texts of arguments, each checked.
func checkList(p *problems, input string, lines []line) []string {
	var out []string
	for _, l := range lines {
		q := probe()
		q.Args = []string{l.text}
		if err := q.Validate(); err != nil {
			e := asFailure(err)
			p.add(input, "%s %s", l.at(), e.Message)
		}
		out = append(out, l.text)
	}
	return out
}

// variableName is what a container's environment can hold: the dialect refuses
// other names in a Job, only later.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkEnvironment returns variables by name, each checked.
func checkEnvironment(p *problems, input string, lines map[string]line) map[string]string {
	out := map[string]string{}
	order := slices.SortedFunc(maps.Keys(lines), func(a, b string) int {
		return cmp.Or(cmp.Compare(lines[a].n, lines[b].n), cmp.Compare(a, b))
	})
	for _, name := range order {
		l := lines[name]
		out[name] = l.text
		if !variableName.MatchString(name) {
			p.add(input, "%s: %q is not the name of an environment variable", l.at(), name)
			continue
		}
		q := probe()
		q.Environment = map[string]string{name: l.text}
		if err := q.Validate(); err != nil {
			e := asFailure(err)
			p.add(input, "%s: %s: %s", l.at(), name, e.Message).Fix = e.Fix
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
	one := probe()
	one.Purpose = q.Purpose
	if err := one.Validate(); err != nil {
		p.add(purpose, "%s", asFailure(err).Message)
		return
	}
	for i := range successors {
		if _, err := one.Successor(i+1, nil); err != nil {
			p.add(purpose, "with the suffix of successor %d: %s", i+1, asFailure(err).Message)
			return
		}
	}
}
