package contract

import (
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// Context is what a reviewed deployment pins: the commit it was built from,
// the target it belongs to, and for each template the digest of its CronJob and
// the identity its ServiceAccount is bound to.
type Context struct {
	SourceCommit   Commit
	TargetBinding  Digest
	TenantID       GUID
	SubscriptionID GUID
	// Kubeconfig is the path the reference's context carries; it may be empty.
	Kubeconfig string

	templateDigests map[string]any
	bindings        map[string]any
}

// ReadContext takes a context apart that was written by the reference:
// source_commit, target_binding, tenant_id, subscription_id,
// protected_aks_job_template_digests, protected_aks_job_identity_bindings and,
// optionally, kubeconfig. Other members do not matter.
func ReadContext(object Object) (Context, error) {
	r := &reader{}
	const path = "context"
	texts := map[string]string{}
	for _, key := range []string{"source_commit", "target_binding", "tenant_id", "subscription_id"} {
		texts[key] = r.text(object, key, path)
	}
	c := Context{}
	c.templateDigests = r.required(object, "protected_aks_job_template_digests", path)
	c.bindings = r.required(object, "protected_aks_job_identity_bindings", path)
	if object["kubeconfig"] != nil {
		c.Kubeconfig = r.text(object, "kubeconfig", path)
	}
	if err := r.failure(failure.ContextIncomplete); err != nil {
		return Context{}, err
	}
	var err error
	check := func(key string, e error) {
		if err == nil && e != nil {
			err = failure.New(failure.ConfigInvalid, "%w", e).At(path + "." + key)
		}
	}
	var e error
	c.SourceCommit, e = ParseCommit(texts["source_commit"])
	check("source_commit", e)
	c.TargetBinding, e = ParseDigest(texts["target_binding"])
	check("target_binding", e)
	c.TenantID, e = ParseGUID(texts["tenant_id"])
	check("tenant_id", e)
	c.SubscriptionID, e = ParseGUID(texts["subscription_id"])
	check("subscription_id", e)
	return c, err
}

// Pins is what a context says of one template.
type Pins struct {
	SourceCommit  Commit
	TargetBinding Digest
	Template      Digest
	Binding       Binding
}

// Pins returns what the context pins for a template. The binding is checked
// against its own digest, the context and the expected ServiceAccount.
//
// The error is context-incomplete when the context does not have the template,
// template-drift when its digest is none, and identity-binding-invalid when the
// binding is not consistent.
func (c Context) Pins(template, namespace, serviceAccount Label) (Pins, error) {
	at := "context.protected_aks_job_template_digests." + template.String()
	text, ok := c.templateDigests[template.String()].(string)
	if !ok {
		return Pins{}, failure.New(failure.ContextIncomplete, "the context pins no digest for template %s", template).At(at)
	}
	digest, err := ParseDigest(text)
	if err != nil {
		return Pins{}, failure.New(failure.TemplateDrift, "%w", err).At(at)
	}
	at = "context.protected_aks_job_identity_bindings." + template.String()
	value, ok := c.bindings[template.String()]
	if !ok || value == nil {
		return Pins{}, failure.New(failure.ContextIncomplete, "the context has no identity binding for template %s", template).At(at)
	}
	binding, err := readBinding(value, at, c.TenantID, c.SubscriptionID, serviceAccount, namespace)
	if err != nil {
		return Pins{}, err
	}
	return Pins{SourceCommit: c.SourceCommit, TargetBinding: c.TargetBinding, Template: digest, Binding: binding}, nil
}
