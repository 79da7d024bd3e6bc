package cluster_test

import (
	"slices"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/cluster"
)

func TestAudit(t *testing.T) {
	t.Parallel()
	reader := "--kubeconfig=" + c.KubeconfigFor("reader")
	if _, err := c.Kubectl(t.Context(), nil, reader, "get", "secret/one"); err == nil {
		t.Fatal("a user without a role could read a secret")
	}
	if err := c.Apply(t.Context(), `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "audited"}}`); err != nil {
		t.Fatal(err)
	}
	events, err := c.Audit(t.Context(), func(e cluster.AuditEvent) bool {
		return e.Name == "audited" || e.User == "reader" && e.Resource == "secrets"
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []cluster.AuditEvent{
		{User: "reader", Verb: "get", Resource: "secrets", Name: "one", Code: 403, RequestURI: "/api/v1/namespaces/default/secrets/one"},
		{User: "admin", Verb: "get", Resource: "configmaps", Name: "audited", Code: 404, RequestURI: "/api/v1/namespaces/default/configmaps/audited"},
		{User: "admin", Verb: "create", Resource: "configmaps", Name: "audited", Code: 201, RequestURI: "/api/v1/namespaces/default/configmaps?fieldManager=kubectl-client-side-apply&fieldValidation=Strict"},
	}
	for i := range want {
		want[i].Stage, want[i].Namespace = "ResponseComplete", "default"
	}
	for i, e := range events {
		if e.Time.IsZero() || e.UserAgent == "" {
			t.Errorf("event without a time or a user agent: %+v", e)
		}
		events[i].Time, events[i].UserAgent = want[0].Time, ""
	}
	if !slices.Equal(events, want) {
		t.Errorf("audit log has\n%+v\nwant\n%+v", events, want)
	}
}

func TestAuditShowsWatches(t *testing.T) {
	t.Parallel()
	// kubectl wait watches; it is over when the time is up.
	_, _ = c.Kubectl(t.Context(), nil, "create", "configmap", "watched")
	_, _ = c.Kubectl(t.Context(), nil, "wait", "configmap/watched", "--for=jsonpath={.data.a}=b", "--timeout=1s")
	events, err := c.Audit(t.Context(), func(e cluster.AuditEvent) bool {
		return e.Verb == "watch" && e.Resource == "configmaps" && e.User == cluster.Admin && e.Stage == "ResponseStarted"
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(events) == 0 {
		t.Error("no watch was recorded when it began")
	}
}
