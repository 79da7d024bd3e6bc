package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

// limited makes the scenario act as a user who has the usual Role but for some
// verbs on resources.
func (s *scene) limited(without ...string) {
	s.t.Helper()
	if err := s.ActAs(s.t.Context(), harness.LimitedNamespace, s.Name); err != nil {
		s.t.Fatal(err)
	}
	s.secrets = append(s.secrets, s.Token)
	role := harness.Role(s.Name)
	for _, rule := range role["rules"].([]any) {
		resource := harness.Member(rule, "resources").([]any)[0].(string)
		verbs := slices.DeleteFunc(harness.Member(rule, "verbs").([]any), func(verb any) bool {
			return slices.Contains(without, verb.(string)+" "+resource)
		})
		rule.(map[string]any)["verbs"] = verbs
	}
	// A rule without verbs is not valid.
	role["rules"] = slices.DeleteFunc(role["rules"].([]any), func(rule any) bool {
		return len(harness.Member(rule, "verbs").([]any)) == 0
	})
	if err := s.World.Grant(s.t.Context(), role, harness.LimitedNamespace, s.Name); err != nil {
		s.t.Fatal(err)
	}
}

// TestDenied: for each verb that the action needs, the message says which one
// is missing on what, and the log has the Role.
func TestDenied(t *testing.T) {
	t.Parallel()
	for without, w := range map[string]want{
		"get cronjobs":        {says: []string{"cannot get resource \"cronjobs\"", "Grant the verb get on cronjobs.batch"}},
		"get serviceaccounts": {says: []string{"cannot get resource \"serviceaccounts\"", "Grant the verb get on serviceaccounts"}},
		"get jobs":            {says: []string{"cannot get resource \"jobs\"", "Grant the verb get on jobs.batch"}, records: asPrepared},
		"create jobs":         {says: []string{"cannot create resource \"jobs\"", "Grant the verb create on jobs.batch"}, records: asIntended},
	} {
		t.Run(label(without), func(t *testing.T) {
			t.Parallel()
			s := set(t, harness.Template{})
			s.limited(without)
			w.outcome, w.reason = "refused", "permission-denied"
			w.says = append(w.says, s.User, "namespace "+harness.Namespace)
			e := s.run()
			s.expect(e, w)
			printed := printedRole(t, e)
			if n := s.attempts(); without != "create jobs" && n > 0 {
				t.Errorf("%d creates were sent", n)
			}
			if printed != roleText {
				t.Errorf("the Role that was printed is\n%s\nwant\n%s", printed, roleText)
			}
			// It is enough.
			if err := s.World.API.Create(t.Context(), "/apis/rbac.authorization.k8s.io/v1/namespaces/"+harness.Namespace+"/rolebindings",
				rebound(harness.RoleName, s)); err != nil {
				t.Fatal(err)
			}
			s.eventually("the Role counts", func() bool {
				e = s.run()
				return e.Outputs["reason"] != "permission-denied"
			})
			s.expect(e, want{
				outcome: "succeeded", dispatched: true, resumed: without == "create jobs", records: asTerminal, created: 1,
			})
		})
	}
}

// rebound binds the Role of the runners to the scenario's user.
func rebound(role string, s *scene) harness.Object {
	binding := harness.RoleBinding(role, map[string]any{
		"kind": "ServiceAccount", "namespace": harness.LimitedNamespace, "name": s.Name,
	})
	binding["metadata"].(map[string]any)["name"] = role + "-" + s.Name
	return binding
}

// roleText is [harness.Role] as YAML.
const roleText = `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: aks-oneshot
  namespace: fdai-runtime
rules:
  - apiGroups: [batch]
    resources: [cronjobs]
    verbs: [get]
  - apiGroups: [""]
    resources: [serviceaccounts]
    verbs: [get]
  - apiGroups: [batch]
    resources: [jobs]
    verbs: [get, list, watch, create]
  - apiGroups: [""]
    resources: [configmaps]
    verbs: [get, list, create, update, delete]
`

// printedRole returns the Role in the run's log, which has a group of its own. At a
// terminal it is between its title and the error.
func printedRole(t *testing.T, e harness.Ended) string {
	t.Helper()
	if e.System == harness.Shell {
		_, rest, _ := strings.Cut(e.Stderr, "The Role that this run needs")
		_, rest, _ = strings.Cut(rest, "\n")
		role, _, _ := strings.Cut(rest, "\nerror: ")
		return role + "\n"
	}
	_, rest, found := strings.Cut(e.Stdout, "::group::The Role that this run needs")
	_, rest, _ = strings.Cut(rest, "\n")
	role, _, ended := strings.Cut(rest, "::endgroup::")
	if !found || !ended {
		t.Fatalf("no Role is printed:\n%s", e.Stdout)
	}
	return role
}

// TestPrintedRole applies the Role as it is printed, and acts with it alone.
func TestPrintedRole(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	role := strings.ReplaceAll(roleText, "name: aks-oneshot", "name: "+s.Name)
	if err := s.World.Cluster.Apply(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	if err := s.ActAs(t.Context(), harness.LimitedNamespace, s.Name); err != nil {
		t.Fatal(err)
	}
	s.secrets = append(s.secrets, s.Token)
	if err := s.World.Grant(t.Context(), harness.Role(s.Name), harness.LimitedNamespace, s.Name); err != nil {
		t.Fatal(err)
	}
	s.expect(s.run(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
}

// TestWatchingIsDenied: it takes longer to see the end, and that is said.
func TestWatchingIsDenied(t *testing.T) {
	t.Parallel()
	for _, without := range []string{"watch jobs", "list jobs"} {
		t.Run(label(without), func(t *testing.T) {
			t.Parallel()
			s := set(t, harness.Template{})
			s.limited(without)
			w := want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1}
			if without == "watch jobs" {
				w.says = []string{"instead of being watched", "cannot watch resource"}
			}
			s.expect(s.run(), w)
		})
	}
}

// TestUnknownUser: a token that nobody knows is not mended by a Role.
func TestUnknownUser(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	s.Token = "nobody.knows.this-token-at-all-0123456789abcdef"
	s.secrets = append(s.secrets, s.Token)
	s.reconnect()
	e := s.run()
	s.expect(e, want{outcome: "refused", reason: "permission-denied", says: []string{"HTTP 401"}})
	if strings.Contains(e.Stdout, "kind: Role") {
		t.Errorf("a Role is printed to somebody who is not known:\n%s", e.Stdout)
	}
}
