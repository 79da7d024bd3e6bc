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
	if q.Image == (Image{}) {
		return invalid("image", "is missing")
	}
	for field, label := range map[string]Label{
		"namespace": q.Namespace, "cronjob": q.Template, "purpose": q.Purpose,
		"service-account": q.ServiceAccount, "container": q.Container,
	} {
		if label == (Label{}) {
			return invalid(field, "is missing")
		}
	}
	if len(q.Command) == 0 {
		return invalid("command", "is missing")
	}
	for field, items := range map[string][]string{"command": q.Command, "args": q.Args} {
		for i, item := range items {
			if err := checkArgument(item); err != nil {
				return invalid(fmt.Sprintf("%s[%d]", field, i), "%w", err)
			}
		}
	}
	if name := jobNamePrefix(q.Purpose); len(name)+executionIDLength > maxJobName {
		return invalid("purpose", "%s makes a Job name of more than %d characters", q.Purpose, maxJobName)
	}
	return checkEnvironment(q.Environment)
}

func checkEnvironment(environment map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		at := failure.New(failure.ConfigInvalid, "").At("env." + name)
		if name == "" || checkText(name) != nil {
			at.Message = "is not the name of an environment variable"
			return at
		}
		if err := checkText(environment[name]); err != nil {
			at.Message, at.Err = "the value "+err.Error(), err
			return at
		}
		for _, marker := range secretMarkers {
			if strings.Contains(strings.ToUpper(name), marker) {
				at.Message = "names a credential (" + marker + ")"
				at.Fix = "Overrides are recorded in plain text; give a credential to the CronJob through a Secret instead"
				return at
			}
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
