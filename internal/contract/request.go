package contract

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// Request is one intended run of a template: what the caller expects to find
// and what is different in this run.
type Request struct {
	Namespace      Label
	Template       Label
	Purpose        Label
	ServiceAccount Label
	// Container, Image and Command are what the template's one container must
	// have.
	Container Label
	Image     Image
	Command   []string
	// Args replace the container's args; Environment is merged into its env.
	Args        []string
	Environment map[string]string
	// RequireSuspended is the suspension the CronJob must have; nil accepts both.
	RequireSuspended *bool
	Pins             Pins
}

// secretMarkers are the words that mark a variable as a credential. Values of
// overrides end up in records and in the cluster, so those are refused.
var secretMarkers = []string{"KEY", "PASSWORD", "SECRET", "TOKEN"}

// Validate checks what can be checked before anything is read. The error is
// config-invalid and names the field.
func (q Request) Validate() error {
	invalid := func(field, format string, args ...any) error {
		return failure.New(failure.ConfigInvalid, format, args...).At(field)
	}
	for _, f := range []struct {
		name  string
		label Label
	}{
		{"namespace", q.Namespace}, {"cronjob", q.Template}, {"purpose", q.Purpose},
		{"container", q.Container}, {"service-account", q.ServiceAccount},
	} {
		if f.label == (Label{}) {
			return invalid(f.name, "is missing")
		}
	}
	if q.Image == (Image{}) {
		return invalid("image", "is missing")
	}
	if len(q.Command) == 0 {
		return invalid("command", "is missing")
	}
	for _, f := range []struct {
		name  string
		items []string
	}{{"command", q.Command}, {"args", q.Args}} {
		for i, item := range f.items {
			if err := CheckArgument(item); err != nil {
				return invalid(fmt.Sprintf("%s[%d]", f.name, i), "%w", err)
			}
		}
	}
	if err := CheckPurpose(q.Purpose); err != nil {
		return invalid("purpose", "%w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(q.Environment)) {
		if e := checkVariable(name, q.Environment[name]); e != nil {
			return e.At("env." + name)
		}
	}
	return nil
}

// CheckPurpose refuses a purpose whose Job would have too long a name.
func CheckPurpose(purpose Label) error {
	if name := jobNamePrefix(purpose); len(name)+executionIDLength > maxJobName {
		return fmt.Errorf("%s makes a Job name of more than %d characters", purpose, maxJobName)
	}
	return nil
}

// CheckVariable refuses an environment override that the dialect does not take:
// a name that is none or names a credential, a value with a NUL or a line break.
// The error is config-invalid and has no field.
func CheckVariable(name, value string) error {
	if e := checkVariable(name, value); e != nil {
		return e
	}
	return nil
}

func checkVariable(name, value string) *failure.Error {
	if !envName.MatchString(name) {
		return failure.New(failure.ConfigInvalid, "%s is not the name of an environment variable", quote(name))
	}
	if err := checkText(value); err != nil {
		return failure.New(failure.ConfigInvalid, "the value %w", err)
	}
	for _, marker := range secretMarkers {
		if strings.Contains(strings.ToUpper(name), marker) {
			return failure.New(failure.ConfigInvalid, "names a credential (%s)", marker).
				WithFix("Overrides are recorded in plain text; give a credential to the CronJob through a Secret instead")
		}
	}
	return nil
}

// Successor returns the request for the nth successor (counted from 1) of the
// same work: its own purpose, and the given environment in place of q's.
func (q Request) Successor(n int, environment map[string]string) (Request, error) {
	purpose, err := ParseLabel(fmt.Sprintf("%s-retry-%d", q.Purpose, n))
	if err != nil {
		return Request{}, failure.New(failure.ConfigInvalid, "with a successor's suffix: %w", err).At("purpose")
	}
	q.Purpose, q.Environment = purpose, environment
	return q, q.Validate()
}
