// Package failure names every way a run can end other than well.
//
// Each refusal and failure carries one stable [Code]; scripts and people rely
// on the codes, so one is never renamed and never reused for something else.
package failure

import (
	"errors"
	"fmt"
	"strings"
)

// Error is a failure told in full: what was being done, to what, what came
// back and what the reader can do about it.
type Error struct {
	// Code is the stable name of the kind of failure.
	Code Code
	// Field is the path of the field, input or record at fault, when one is.
	Field string
	// Message says what was being done, to what, and what came back.
	Message string
	// Fix says what the reader can do. Empty when the code's own advice is all
	// there is to say.
	Fix string
	// Err is the cause, if there is one below this.
	Err error
}

// New returns a failure of the given kind. The format and arguments are those
// of [fmt.Errorf]; a %w among them becomes the cause.
func New(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

// At returns a copy of e that names the field, input or record at fault.
func (e *Error) At(field string) *Error {
	c := *e
	c.Field = field
	return &c
}

// WithFix returns a copy of e that says what the reader can do.
func (e *Error) WithFix(format string, args ...any) *Error {
	c := *e
	c.Fix = fmt.Sprintf(format, args...)
	return &c
}

// Error returns the failure on one line, its code first.
func (e *Error) Error() string {
	return string(e.Code) + ": " + e.Text()
}

// Text returns the failure on one line without its code.
func (e *Error) Text() string {
	var b strings.Builder
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	b.WriteString(e.Message)
	if e.Fix != "" {
		b.WriteString(". " + e.Fix)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of the first [Error] in err's tree, or "" when there
// is none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}
