package harness

import (
	"context"
	"net/http"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/test/cluster"
)

// UserAgent is how the action begins the name that it gives to API servers.
const UserAgent = "aks-oneshot/"

// Creates returns the creates that made a Job of the scenario, whoever sent
// them, as the audit log has them.
func (s *Scenario) Creates(ctx context.Context) ([]cluster.AuditEvent, error) {
	return s.World.Cluster.Audit(ctx, func(e cluster.AuditEvent) bool {
		return isCreate(e) && e.Code == http.StatusCreated && s.owns(e.Name)
	})
}

// Requests returns what the action sent as the scenario's user, in the order in
// which it was answered.
func (s *Scenario) Requests(ctx context.Context) ([]cluster.AuditEvent, error) {
	return s.World.Cluster.Audit(ctx, func(e cluster.AuditEvent) bool {
		return e.User == s.User && strings.HasPrefix(e.UserAgent, UserAgent)
	})
}

// Attempts returns the creates that the action sent as the scenario's user,
// whatever the answer.
func (s *Scenario) Attempts(ctx context.Context) ([]cluster.AuditEvent, error) {
	return s.World.Cluster.Audit(ctx, func(e cluster.AuditEvent) bool {
		return isCreate(e) && e.User == s.User && strings.HasPrefix(e.UserAgent, UserAgent)
	})
}

func isCreate(e cluster.AuditEvent) bool {
	return e.Verb == "create" && e.Resource == "jobs" && e.Subresource == "" && e.Namespace == Namespace &&
		!strings.Contains(e.RequestURI, "dryRun=")
}
