package control

import (
	"context"
	"fmt"
)

// The commands that a running cluster obeys.
const (
	StopAPIServer   = "stop-apiserver"
	StartAPIServer  = "start-apiserver"
	PauseAPIServer  = "pause-apiserver"
	ResumeAPIServer = "resume-apiserver"
)

// Do carries out one command.
func (c *Cluster) Do(ctx context.Context, command string) error {
	switch command {
	case StopAPIServer:
		return c.apiserver.stop(ctx, apiServerGrace)
	case StartAPIServer:
		if c.apiserver.running() {
			return nil
		}
		if err := c.apiserver.start(); err != nil {
			return err
		}
		return c.waitAPIServer(ctx)
	case PauseAPIServer:
		return c.apiserver.pause(true)
	case ResumeAPIServer:
		return c.apiserver.pause(false)
	}
	return fmt.Errorf("no such command: %q", command)
}
