package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/cluster/internal/control"
	"github.com/aks-oneshot/aks-oneshot/test/cluster/internal/supervise"
)

// Found is a cluster that does not end with the process that started it.
type Found struct {
	Kubeconfig string
	Kubectl    string // path of a kubectl of the same version
	Workload   string
}

// Up starts a cluster in o.Dir that stays until Down, or finds the one that is
// there. It lives on when the calling process ends.
func Up(ctx context.Context, o Options) (*Found, error) {
	parts, err := prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	kubectl, err := linkKubectl(parts.order.Spec.Programs.Kubernetes)
	if err != nil {
		return nil, err
	}
	found := &Found{Kubectl: kubectl, Kubeconfig: filepath.Join(parts.order.Spec.Dir, control.KubeconfigFile(Admin)), Workload: parts.workload}
	for {
		switch s, info := supervise.Look(o.Dir); s {
		case supervise.Running:
			parts.say("the cluster runs already: %s", info.Server)
			return found, nil
		case supervise.Starting: // by another process, or it is just ending
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		o.detached = true
		c, err := Start(ctx, o)
		if err == nil {
			return found, c.link.leave()
		}
		if !strings.Contains(err.Error(), supervise.ErrInUse.Error()) {
			return nil, err
		} // another process was faster
	}
}

// Down ends the cluster in a folder, whoever started it, and removes the
// folder. It is content when there is none.
func Down(dir string) error { return supervise.Down(dir) }

// Status says in words what there is in a folder.
func Status(dir string) string {
	switch s, info := supervise.Look(dir); s {
	case supervise.Running:
		node := "real containers"
		if !info.RealNode {
			node = "pods played by kwok"
		}
		return fmt.Sprintf("running: %s, %s, state in %s", info.Server, node, info.Dir)
	case supervise.Starting:
		return "starting or ending, state in " + dir
	case supervise.Left:
		return "not running, but it left files in " + dir + ": clear up with down"
	}
	return "not running"
}

// Build makes and caches everything that a cluster needs.
func Build(ctx context.Context, o Options) error {
	_, err := prepare(ctx, o)
	return err
}
