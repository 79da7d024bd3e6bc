package e2e

import (
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

// signIn makes a scenario of its own for a test, whose cluster is found through
// an Azure of its own, and whose job may do what the action needs.
func signIn(t *testing.T, template harness.Template) *scene {
	t.Helper()
	s := signInUnbound(t, template)
	if err := s.Azure.Bind(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// signInUnbound is signIn for a job that the cluster knows and allows nothing.
func signInUnbound(t *testing.T, template harness.Template) *scene {
	t.Helper()
	s := set(t, template)
	a, err := s.SignIn()
	if err != nil {
		t.Fatal(err)
	}
	s.secrets = nil // The one of the kubeconfig is given to nobody.
	t.Cleanup(func() {
		// It runs before the scene is over, which looks for what was issued.
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// expectNothingIssued looks for every secret that the scenario's Azure and its
// stores issued, in everything that the runs printed and wrote.
func (s *scene) expectNothingIssued() {
	s.t.Helper()
	if s.Azure == nil && s.Stores == nil {
		return
	}
	found, err := s.Scan(s.ends)
	if err != nil {
		s.t.Error(err)
	}
	for _, where := range found {
		s.t.Errorf("a secret came out: %s", where)
	}
}

// issuedFor counts the tokens that were issued for an audience.
func (s *scene) issuedFor(audience string) int { return s.Azure.Entra.IssuedFor()[audience] }
