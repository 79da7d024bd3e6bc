package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// Errors are several things that are wrong with the inputs, in the order of
// [Inputs]; flags that are none come first.
type Errors []*failure.Error

// Error returns the errors, one a line, each with its code where that is another
// than config-invalid.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Text()
		if err.Code != failure.ConfigInvalid {
			lines[i] += " (" + string(err.Code) + ")"
		}
	}
	return strings.Join(lines, "\n")
}

// code returns the code that stands for all of them: that of the first one that
// is wrong with the inputs themselves, if there is one, since what contradicts
// the review may follow from it.
func (e Errors) code() failure.Code {
	for _, err := range e {
		if err.Code == failure.ConfigInvalid || err.Code == failure.ContextIncomplete {
			return err.Code
		}
	}
	return e[0].Code
}

// problems collects errors by the input that they are about.
type problems struct {
	flags   Errors
	byInput map[string]Errors
}

// add records that an input is config-invalid, and returns the error so that
// advice can be added to it.
func (p *problems) add(input, format string, args ...any) *failure.Error {
	err := failure.New(failure.ConfigInvalid, format, args...).At(input)
	p.put(input, err)
	return err
}

// put records an error about an input as it is.
func (p *problems) put(input string, err *failure.Error) {
	if p.byInput == nil {
		p.byInput = map[string]Errors{}
	}
	p.byInput[input] = append(p.byInput[input], err)
}

// flag records that an argument on the command line is no input.
func (p *problems) flag(arg, format string, args ...any) {
	p.flags = append(p.flags, failure.New(failure.ConfigInvalid, format, args...).At(arg))
}

// with reports whether any error is about the input.
func (p *problems) with(input string) bool { return len(p.byInput[input]) > 0 }

// err returns everything that was recorded as one error, or nil.
func (p *problems) err() error {
	all := slices.Clone(p.flags)
	for _, in := range inputs {
		all = append(all, p.byInput[in.Name]...)
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return failure.New(all.code(), "%d things are wrong with the inputs:\n%w", len(all), all)
}

// asFailure returns err as a failure; one that is none becomes config-invalid.
func asFailure(err error) *failure.Error {
	if e, ok := errors.AsType[*failure.Error](err); ok {
		return e
	}
	return failure.New(failure.ConfigInvalid, "%w", err)
}

var wordForm = regexp.MustCompile(`^[A-Za-z]+([.-][A-Za-z]+){0,3}$`)

// plainly shows a value that has to be one of a few words. What is plainly no
// word may be a secret that went astray, and is told by its size.
func plainly(value string) string {
	if len(value) <= 40 && wordForm.MatchString(value) {
		return strconv.Quote(value)
	}
	return fmt.Sprintf("a value of %d bytes", len(value))
}

// list returns words in a sentence, with what is between the last two of them.
func list(between string, words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + between + " " + words[last]
}
