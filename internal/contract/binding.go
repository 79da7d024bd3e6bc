package contract

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

const (
	bindingSchema = "fdai.aks-service-account-binding.v1"

	workloadIdentityPrefix = "azure.workload.identity/"
	clientIDAnnotation     = workloadIdentityPrefix + "client-id"
	tenantIDAnnotation     = workloadIdentityPrefix + "tenant-id"
)

var managedIdentityID = regexp.MustCompile(
	`^/subscriptions/([0-9a-f-]{36})/resourcegroups/[^/]+/providers/microsoft\.managedidentity/userassignedidentities/[^/]+$`)

// Binding is the reviewed tie between a ServiceAccount and the managed
// identity it acts as (Azure workload identity). The zero value binds nothing.
type Binding struct {
	fields         map[string]any
	annotations    map[string]string
	serviceAccount string
	namespace      string
	digest         Digest
}

// Digest identifies the binding; it is part of every execution digest.
func (b Binding) Digest() Digest { return b.digest }

// Object returns the binding as the context carries it.
func (b Binding) Object() Object {
	out := clone(b.fields).(map[string]any)
	out["binding_digest"] = b.digest.String()
	return out
}

// NewBinding derives the binding that a protected scheduled job stands for.
//
// scheduledJob is the reviewed Terraform input; only identity_client_id and
// identity_resource_id are read. The ServiceAccount is named after the
// template. Anything malformed is identity-binding-invalid.
func NewBinding(scheduledJob any, template, namespace, tenantID, subscriptionID string) (Binding, error) {
	invalid := func(field, format string, args ...any) error {
		return failure.New(failure.IdentityBindingInvalid, format, args...).At(field)
	}
	r := &reader{}
	job := r.object(scheduledJob, "scheduled job")
	client := r.text(job, "identity_client_id", "scheduled job")
	resource := strings.ToLower(r.text(job, "identity_resource_id", "scheduled job"))
	if err := r.failure(failure.IdentityBindingInvalid); err != nil {
		return Binding{}, err
	}
	clientID, err := ParseGUID(client)
	if err != nil {
		return Binding{}, invalid("identity_client_id", "%w", err)
	}
	tenant, err := ParseGUID(tenantID)
	if err != nil {
		return Binding{}, invalid("tenant_id", "%w", err)
	}
	subscription, err := ParseGUID(subscriptionID)
	if err != nil {
		return Binding{}, invalid("subscription_id", "%w", err)
	}
	if _, err := ParseLabel(template); err != nil {
		return Binding{}, invalid("template name", "%w", err)
	}
	if _, err := ParseLabel(namespace); err != nil {
		return Binding{}, invalid("namespace", "%w", err)
	}
	if m := managedIdentityID.FindStringSubmatch(resource); m == nil || m[1] != subscription.String() {
		return Binding{}, invalid("identity_resource_id",
			"%s is not a user-assigned managed identity of subscription %s", quote(resource), subscription)
	}
	b := Binding{
		serviceAccount: template + "-job",
		namespace:      namespace,
		annotations:    map[string]string{clientIDAnnotation: clientID.String(), tenantIDAnnotation: tenant.String()},
	}
	b.fields = map[string]any{
		"schema_version":       bindingSchema,
		"service_account_name": b.serviceAccount,
		"namespace":            b.namespace,
		"identity_client_id":   clientID.String(),
		"identity_resource_id": resource,
		"tenant_id":            tenant.String(),
		"subscription_id":      subscription.String(),
		"annotations":          map[string]any{clientIDAnnotation: clientID.String(), tenantIDAnnotation: tenant.String()},
	}
	b.digest, err = DigestOf(b.fields)
	return b, err
}

// readBinding checks a binding that a context carries: exactly the known keys,
// its own digest, and agreement with the context and the expected names.
func readBinding(v any, path string, tenant, subscription GUID, serviceAccount, namespace Label) (Binding, error) {
	var first error
	invalid := func(field, format string, args ...any) {
		if first == nil {
			first = failure.New(failure.IdentityBindingInvalid, format, args...).At(path + "." + field)
		}
	}
	r := &reader{}
	given := r.object(v, path)
	if err := r.failure(failure.ContextIncomplete); err != nil {
		return Binding{}, err
	}
	fields := clone(given).(map[string]any)
	supplied := fields["binding_digest"]
	delete(fields, "binding_digest")
	digest, err := DigestOf(fields)
	if err != nil {
		invalid("binding_digest", "%w", err)
	}
	known := []string{"annotations", "identity_client_id", "identity_resource_id", "namespace",
		"schema_version", "service_account_name", "subscription_id", "tenant_id"}
	if keys := slices.Sorted(maps.Keys(fields)); !slices.Equal(keys, known) {
		invalid("(keys)", "has the fields %s, want exactly %s and binding_digest",
			strings.Join(keys, ", "), strings.Join(known, ", "))
	}
	want := func(field, value string) {
		if have := fields[field]; have != value {
			invalid(field, "is %v, want %s", have, value)
		}
	}
	want("schema_version", bindingSchema)
	want("service_account_name", serviceAccount.String())
	want("namespace", namespace.String())
	want("tenant_id", tenant.String())
	want("subscription_id", subscription.String())
	resource, _ := fields["identity_resource_id"].(string)
	if m := managedIdentityID.FindStringSubmatch(resource); m == nil || m[1] != subscription.String() {
		invalid("identity_resource_id", "%s is not a user-assigned managed identity, in lower case, of subscription %s",
			quote(resource), subscription)
	}
	client, _ := fields["identity_client_id"].(string)
	if _, err := ParseGUID(client); err != nil {
		invalid("identity_client_id", "%w", err)
	}
	annotations := map[string]string{clientIDAnnotation: client, tenantIDAnnotation: tenant.String()}
	if have := r.stringMap(fields, "annotations", path); r.err != nil || !maps.Equal(have, annotations) {
		invalid("annotations", "must hold exactly %s and %s, equal to the binding's ids", clientIDAnnotation, tenantIDAnnotation)
	}
	if supplied != digest.String() {
		invalid("binding_digest", "is %v, but the digest of the binding is %s", supplied, digest)
	}
	if first != nil {
		return Binding{}, first
	}
	return Binding{
		fields: fields, annotations: annotations, digest: digest,
		serviceAccount: serviceAccount.String(), namespace: namespace.String(),
	}, nil
}

// Verify holds a live ServiceAccount against the binding: its name, namespace
// and workload identity annotations, no more and no fewer of them. Other
// annotations do not matter. A difference is identity-drift.
func (b Binding) Verify(serviceAccount Object) error {
	r := &reader{}
	meta := r.object(serviceAccount["metadata"], "metadata")
	annotations := r.stringMap(meta, "annotations", "metadata")
	if err := r.failure(failure.IdentityDrift); err != nil {
		return err
	}
	for _, c := range []struct {
		field string
		have  any
		want  string
	}{
		{"apiVersion", serviceAccount["apiVersion"], "v1"},
		{"kind", serviceAccount["kind"], "ServiceAccount"},
		{"metadata.name", meta["name"], b.serviceAccount},
		{"metadata.namespace", meta["namespace"], b.namespace},
	} {
		if c.have != c.want {
			return failure.New(failure.IdentityDrift, "the ServiceAccount has %v, reviewed was %s", c.have, c.want).At(c.field)
		}
	}
	maps.DeleteFunc(annotations, func(key, _ string) bool { return !strings.HasPrefix(key, workloadIdentityPrefix) })
	for _, key := range slices.Sorted(maps.Keys(merge(annotations, b.annotations))) {
		have, present := annotations[key]
		want, reviewed := b.annotations[key]
		at := "metadata.annotations[" + key + "]"
		switch {
		case !reviewed:
			return failure.New(failure.IdentityDrift, "ServiceAccount %s has this annotation, the reviewed binding has not", b.serviceAccount).At(at)
		case !present:
			return failure.New(failure.IdentityDrift, "ServiceAccount %s lacks this annotation, reviewed was %s", b.serviceAccount, want).At(at)
		case have != want:
			return failure.New(failure.IdentityDrift, "ServiceAccount %s has %s, reviewed was %s", b.serviceAccount, quote(have), want).At(at)
		}
	}
	return nil
}

// merge returns a new map with the entries of both; the second one's win.
func merge[V any](a, b map[string]V) map[string]V {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]V{}
	}
	maps.Copy(out, b)
	return out
}
