package harness

import (
	"context"
	"net/http"

	"github.com/aks-oneshot/aks-oneshot/test/cluster"
)

// Creates returns the creates that made a Job in the namespace, whoever sent
// them and for whatever scenario, as the audit log has them.
func (w *World) Creates(ctx context.Context) ([]cluster.AuditEvent, error) {
	return w.Cluster.Audit(ctx, func(e cluster.AuditEvent) bool {
		return isCreate(e) && e.Code == http.StatusCreated
	})
}
