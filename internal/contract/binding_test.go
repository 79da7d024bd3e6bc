package contract

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

const (
	digestsKey  = "protected_aks_job_template_digests"
	bindingsKey = "protected_aks_job_identity_bindings"
)

func TestContextIsHeldToWhatItPins(t *testing.T) {
	t.Parallel()
	binding := []any{bindingsKey, "inventory"}
	at := "context." + bindingsKey + ".inventory"
	tests := []struct {
		name  string
		value any
		path  []any
		code  failure.Code
		field string
	}{
		{"no commit", remove, []any{"source_commit"}, failure.ContextIncomplete, "context.source_commit"},
		{"a short commit", "abc", []any{"source_commit"}, failure.ConfigInvalid, "context.source_commit"},
		{"no digests", remove, []any{digestsKey}, failure.ContextIncomplete, "context." + digestsKey},
		{"digests of another kind", []any{}, []any{digestsKey}, failure.ContextIncomplete, "context." + digestsKey},
		{"no digest", remove, []any{digestsKey, "inventory"}, failure.ContextIncomplete, "context." + digestsKey + ".inventory"},
		{"a digest that is none", "x", []any{digestsKey, "inventory"}, failure.TemplateDrift, "context." + digestsKey + ".inventory"},
		{"no binding", remove, binding, failure.ContextIncomplete, at},
		{"a binding of another kind", "x", binding, failure.ContextIncomplete, at},
		{"a key too many", "x", in(binding, "more"), failure.IdentityBindingInvalid, at + ".(keys)"},
		{"a key too few", remove, in(binding, "namespace"), failure.IdentityBindingInvalid, at + ".(keys)"},
		{"another schema", "v2", in(binding, "schema_version"), failure.IdentityBindingInvalid, at + ".schema_version"},
		{"another account", "x", in(binding, "service_account_name"), failure.IdentityBindingInvalid, at + ".service_account_name"},
		{"another namespace", "default", in(binding, "namespace"), failure.IdentityBindingInvalid, at + ".namespace"},
		{"another tenant", "x", in(binding, "tenant_id"), failure.IdentityBindingInvalid, at + ".tenant_id"},
		{"another subscription", "x", in(binding, "subscription_id"), failure.IdentityBindingInvalid, at + ".subscription_id"},
		{"another resource", "/x", in(binding, "identity_resource_id"), failure.IdentityBindingInvalid, at + ".identity_resource_id"},
		{"a client that is none", "x", in(binding, "identity_client_id"), failure.IdentityBindingInvalid, at + ".identity_client_id"},
		{"annotations", map[string]any{}, in(binding, "annotations"), failure.IdentityBindingInvalid, at + ".annotations"},
		{"annotations that are no text", map[string]any{"a": json.Number("1")}, in(binding, "annotations"), failure.IdentityBindingInvalid, at + ".annotations"},
		{"a digest of something else", strings.Repeat("0", 64), in(binding, "binding_digest"), failure.IdentityBindingInvalid, at + ".binding_digest"},
		{"no digest of its own", remove, in(binding, "binding_digest"), failure.IdentityBindingInvalid, at + ".binding_digest"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			object, q := fixture(t, "context.json"), testRequest(t)
			set(object, test.value, test.path...)
			c, err := ReadContext(object)
			if err == nil {
				_, err = c.Pins(q.Template, q.Namespace, q.ServiceAccount)
			}
			checkFailure(t, err, test.code, test.field)
		})
	}
}

// A binding that is consistent in itself still has to be of the context's
// tenant, whoever wrote it.
func TestAConsistentBindingOfAnotherTenantIsRefused(t *testing.T) {
	t.Parallel()
	object, q := fixture(t, "context.json"), testRequest(t)
	other, err := NewBinding(map[string]any{
		"identity_client_id":   "bbbbbbbb-cccc-dddd-eeee-ffffffffffff",
		"identity_resource_id": "/subscriptions/11111111-2222-3333-4444-555555555555/resourcegroups/r/providers/microsoft.managedidentity/userassignedidentities/u",
	}, "inventory", "fdai-runtime", "00000000-7777-8888-9999-aaaaaaaaaaaa", "11111111-2222-3333-4444-555555555555")
	if err != nil {
		t.Fatal(err)
	}
	set(object, map[string]any(other.Object()), bindingsKey, "inventory")
	c, err := ReadContext(object)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Pins(q.Template, q.Namespace, q.ServiceAccount)
	checkFailure(t, err, failure.IdentityBindingInvalid, "context."+bindingsKey+".inventory.tenant_id")
}
