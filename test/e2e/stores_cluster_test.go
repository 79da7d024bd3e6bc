package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

// TestStoresConfigMapsAreDenied: without the verbs on ConfigMaps nothing is
// dispatched, and the Role that is printed is enough.
func TestStoresConfigMapsAreDenied(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		without []string
		records []string
	}{
		"read":   {[]string{"get configmaps", "list configmaps"}, nil},
		"create": {[]string{"create configmaps"}, asPrepared},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := keep(t, harness.Template{}, "cluster")
			s.limited(c.without...)
			e := s.run()
			verb, _, _ := strings.Cut(c.without[0], " ")
			s.expect(e, want{
				outcome: "refused", reason: "permission-denied", created: 0, records: c.records,
				says: []string{"checkpoint store cluster", "cannot " + verb + " resource \"configmaps\"", s.User, "Apply the Role that is printed in the log"},
			})
			s.dispatchedNothing()
			if printed := printedRole(t, e); printed != roleText {
				t.Errorf("the Role that was printed is\n%s\nwant\n%s", printed, roleText)
			}
			if err := s.World.API.Create(t.Context(), "/apis/rbac.authorization.k8s.io/v1/namespaces/"+harness.Namespace+"/rolebindings",
				rebound(harness.RoleName, s)); err != nil {
				t.Fatal(err)
			}
			s.eventually("the Role counts", func() bool {
				e = s.run()
				return e.Outputs["reason"] != "permission-denied"
			})
			s.expect(e, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1, stored: is("true")})
		})
	}
}

// TestStoresUpdatesAreDenied: the intent is there, and the rest is told to be
// missing.
func TestStoresUpdatesAreDenied(t *testing.T) {
	t.Parallel()
	s := keep(t, harness.Template{}, "cluster")
	s.limited("update configmaps")
	e := s.run()
	s.expect(e, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1, stored: is("false")})
	if told := strings.Join(e.Annotations("warning"), "\n"); !strings.Contains(told, "checkpoint store cluster does not have the terminal record") ||
		!strings.Contains(told, `cannot update resource "configmaps"`) {
		t.Errorf("the warning is %q", told)
	}
}

// TestStoresExpiredConfigMaps: those whose time is over are removed by a later run of the
// same CronJob, and no others.
func TestStoresExpiredConfigMaps(t *testing.T) {
	t.Parallel()
	s := keep(t, harness.Template{}, "cluster")
	first := s.run()
	s.expect(first, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1, stored: is("true")})
	expired := first.Outputs["job-name"]
	s.patch(harness.ConfigMapPath(expired), map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		"aks-oneshot/expires-at": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339),
	}}})
	s.elsewhere()
	s.args("print second")
	second := s.run()
	s.expect(second, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 2, stored: is("true")})
	kept := second.Outputs["job-name"]
	s.eventually("the expired ConfigMap is gone", func() bool { return s.configMap(expired) == nil })
	s.elsewhere()
	s.args("print third", "sleep 2s")
	s.expect(s.run(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 3})
	object := s.configMap(kept)
	if object == nil {
		t.Fatal("a ConfigMap is gone whose time is not over")
	}
	labels, _ := harness.Member(object, "metadata", "labels").(map[string]any)
	for key, value := range map[string]string{
		"app.kubernetes.io/managed-by": "aks-oneshot", "app.kubernetes.io/component": "checkpoint",
		"aks-oneshot/cronjob": s.Name, "aks-oneshot/purpose": s.Name,
	} {
		if labels[key] != value {
			t.Errorf("label %s is %v, want %s", key, labels[key], value)
		}
	}
	if owners := harness.Member(object, "metadata", "ownerReferences"); owners != nil {
		t.Errorf("the ConfigMap belongs to %v", owners)
	}
	names := func() (verbs []string) {
		for _, r := range s.requests() {
			if r.Verb == "delete" {
				verbs = append(verbs, r.Name)
			}
		}
		return verbs
	}()
	if !slices.Equal(names, []string{"aks-oneshot-" + expired}) {
		t.Errorf("what was deleted is %q", names)
	}
}
