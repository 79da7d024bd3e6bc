package cluster

import (
	"context"

	"github.com/aks-oneshot/aks-oneshot/test/cluster/internal/control"
)

// StopAPIServer ends the API server's process. Its port stays reserved and
// refuses connections.
func (c *Cluster) StopAPIServer(ctx context.Context) error {
	return c.link.do(ctx, control.StopAPIServer)
}

// StartAPIServer starts the API server again and waits until it is ready.
func (c *Cluster) StartAPIServer(ctx context.Context) error {
	return c.link.do(ctx, control.StartAPIServer)
}

// RestartAPIServer stops and starts the API server.
func (c *Cluster) RestartAPIServer(ctx context.Context) error {
	if err := c.StopAPIServer(ctx); err != nil {
		return err
	}
	return c.StartAPIServer(ctx)
}

// PauseAPIServer freezes the API server: connections are accepted and stay
// open, and no answer comes.
func (c *Cluster) PauseAPIServer(ctx context.Context) error {
	return c.link.do(ctx, control.PauseAPIServer)
}

// ResumeAPIServer lets a paused API server go on.
func (c *Cluster) ResumeAPIServer(ctx context.Context) error {
	return c.link.do(ctx, control.ResumeAPIServer)
}
