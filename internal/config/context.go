package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// maxContext bounds the context file, in bytes. One with a hundred templates
// has less than a tenth of it.
const maxContext = 1 << 20

// members are the inputs that may be given in place of a context file, and the
// member of the context that each one is.
var members = []struct {
	input, member string
	check         func(string) error
}{
	{sourceCommit, "source_commit", checked(contract.ParseCommit)},
	{targetBinding, "target_binding", checked(contract.ParseDigest)},
	{tenantID, "tenant_id", checked(parseGUID)},
	{subscriptionID, "subscription_id", checked(parseGUID)},
	{templateDigest, "protected_aks_job_template_digests", checked(contract.ParseDigest)},
	{identityBinding, "protected_aks_job_identity_bindings", nil},
}

func checked[T any](parse func(string) (T, error)) func(string) error {
	return func(s string) error {
		_, err := parse(s)
		return err
	}
}

// readContext reads the context, from its file or from its members one by one,
// and puts what it pins for the CronJob into the request.
func readContext(p *problems, v values, q *contract.Request) pinned {
	given := pinned{tenant: readGUID(p, v, tenantID), subscription: readGUID(p, v, subscriptionID)}
	if v.given(contextFile) {
		return contextFromFile(p, v, q, given)
	}
	object := contextFromMembers(p, v, q.Template.String())
	if object != nil {
		readPins(p, object, q, func(field string) (input, at string) {
			for _, m := range members {
				if rest, ok := strings.CutPrefix(field, "context."+m.member); ok {
					return m.input, m.input + strings.TrimPrefix(rest, "."+q.Template.String())
				}
			}
			return contextFile, field
		})
	}
	return given
}

func contextFromFile(p *problems, v values, q *contract.Request, given pinned) pinned {
	file := v.text(contextFile)
	for _, m := range members {
		if v.given(m.input) && !isAzureToo(m.input) {
			p.add(m.input, "is given beside %s, which has it too; give one of them", contextFile)
		}
	}
	if !isPath(p, contextFile, file, "a context", "; its members can be given one by one") {
		given.file = "the value of " + contextFile
		return given
	}
	given.file = file
	data, err := readBounded(file, maxContext)
	if err != nil {
		p.add(contextFile, "could not be read: %w", err)
		return given
	}
	object, err := contract.ParseObject(data)
	if err != nil {
		p.add(contextFile, "%s could not be read: %w", file, err)
		return given
	}
	context := readPins(p, object, q, func(field string) (input, at string) {
		return contextFile, contextFile + "#" + strings.TrimPrefix(field, "context.")
	})
	given.kubeconfig = context.Kubeconfig
	given.tenant = agreed(p, v, tenantID, given.tenant, context.TenantID, file)
	given.subscription = agreed(p, v, subscriptionID, given.subscription, context.SubscriptionID, file)
	return given
}

// contextFromMembers builds the context that the members stand for, or returns
// nil when one of them is missing or malformed.
func contextFromMembers(p *problems, v values, template string) contract.Object {
	object, missing, bad := contract.Object{}, []string(nil), false
	none := true // of those that are the context's alone
	for _, m := range members {
		text := v.text(m.input)
		none = none && (isAzureToo(m.input) || text == "" && !p.with(m.input))
		switch {
		case p.with(m.input):
			bad = true
			continue
		case text == "":
			missing = append(missing, m.input)
			continue
		case m.check == nil:
			binding, err := contract.Parse([]byte(text))
			if err != nil {
				p.add(m.input, "could not be read: %w", err)
			}
			object[m.member] = map[string]any{template: binding}
		case m.input == templateDigest:
			object[m.member] = map[string]any{template: text}
		default:
			object[m.member] = text
		}
		if m.check != nil {
			if err := m.check(text); err != nil {
				p.add(m.input, "%w", err)
			}
		}
		bad = bad || p.with(m.input)
	}
	switch {
	case none && p.with(contextFile):
		return nil // it was to be given
	case none:
		p.put(contextFile, failure.New(failure.ContextIncomplete, "is missing: neither it nor its members (%s) are given",
			strings.Join(missing, ", ")).At(contextFile))
		return nil
	}
	for _, input := range missing {
		p.put(input, failure.New(failure.ContextIncomplete, "is missing, and no %s is given that has it", contextFile).At(input))
	}
	if bad || missing != nil {
		return nil
	}
	return object
}

// readPins hands a context to the dialect. place says which input a field of
// the context came from, and what to call it. It returns the
// context, the zero value when it is none.
func readPins(p *problems, object contract.Object, q *contract.Request, place func(string) (input, at string)) contract.Context {
	report := func(err error) {
		e := asFailure(err)
		input, at := place(e.Field)
		p.put(input, e.At(at))
	}
	context, err := contract.ReadContext(object)
	if err != nil {
		report(err)
		return contract.Context{}
	}
	unnamed := contract.Label{}
	if q.Template == unnamed || q.Namespace == unnamed || q.ServiceAccount == unnamed {
		return context
	}
	if q.Pins, err = context.Pins(q.Template, q.Namespace, q.ServiceAccount); err != nil {
		report(err)
	}
	return context
}

// readBounded reads a regular file of at most limit bytes.
func readBounded(path string, limit int64) ([]byte, error) {
	// Without O_NONBLOCK, opening a named pipe waits for a writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	if len(data) == 0 {
		return nil, errors.New(path + " is empty")
	}
	return data, nil
}
