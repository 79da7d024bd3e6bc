package cluster

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/aks-oneshot/aks-oneshot/test/cluster/internal/build"
	"github.com/aks-oneshot/aks-oneshot/test/cluster/internal/control"
	"github.com/aks-oneshot/aks-oneshot/test/cluster/internal/supervise"
)

// prepared is a cluster that only has to be started.
type prepared struct {
	order    supervise.Order
	workload string
	say      func(string, ...any)
}

// prepare finds or makes everything that a cluster consists of.
func prepare(ctx context.Context, o Options) (*prepared, error) {
	p := &prepared{say: sayTo(o.Log)}
	node, err := chooseNode(o.Node, p.say)
	if err != nil {
		return nil, err
	}
	p.order.RealNode = node == Kubelet
	spec := &p.order.Spec
	if spec.Programs, err = programs(ctx, node, p.say); err != nil {
		return nil, err
	}
	archive, workload, err := build.Images(ctx, control.PauseImage, p.say)
	if err != nil {
		return nil, fmt.Errorf("could not make the test program's image: %w", err)
	}
	p.workload = workload
	if spec.Archives, err = absolute(append([]string{archive}, o.Images...)); err != nil {
		return nil, err
	}
	if o.Dir != "" {
		if spec.Dir, err = filepath.Abs(o.Dir); err != nil {
			return nil, err
		}
	}
	if logs := os.Getenv(LogsEnv); logs != "" {
		if p.order.Logs, err = filepath.Abs(logs); err != nil {
			return nil, err
		}
	}
	spec.APIServerArgs = o.APIServerArgs
	spec.Users = control.OwnUsers(rand.Text)
	for _, u := range o.Users {
		if u.Token == "" {
			u.Token = rand.Text()
		}
		spec.Users = append(spec.Users, u)
	}
	return p, nil
}

func programs(ctx context.Context, node Node, say func(string, ...any)) (control.Programs, error) {
	var p control.Programs
	var err error
	if p.Kubernetes, err = build.Kubernetes(ctx, say); err != nil {
		return p, err
	}
	if node == Kwok {
		p.Kwok, err = build.Kwok(ctx, say)
		return p, err
	}
	tools, err := build.Tools(ctx, say, "containerd", "ctr", "loopback", "runc")
	if err != nil {
		return p, err
	}
	p.Containerd, p.Ctr, p.Loopback = tools[0], tools[1], tools[2]
	return p, nil
}

// chooseNode resolves Auto and says why pods are only played.
func chooseNode(node Node, say func(string, ...any)) (Node, error) {
	if forced := os.Getenv(NodeEnv); forced != "" {
		node = Node(strings.ToLower(forced))
	}
	switch node {
	case Kwok:
		return node, nil
	case Auto, Kubelet:
	default:
		return node, fmt.Errorf("no such node: %q (%s may be %s or %s)", node, NodeEnv, Kubelet, Kwok)
	}
	err := supervise.CanIsolate()
	switch {
	case err == nil:
		return Kubelet, nil
	case node == Auto:
		say("pods are only played by kwok: %v", err)
		return Kwok, nil
	}
	return node, fmt.Errorf("no real node here: %w; set %s=%s to have pods played", err, NodeEnv, Kwok)
}

func absolute(paths []string) ([]string, error) {
	all := make([]string, len(paths))
	for i, p := range paths {
		var err error
		if all[i], err = filepath.Abs(p); err != nil {
			return nil, err
		}
		if _, err := os.Stat(p); err != nil {
			return nil, fmt.Errorf("image archive: %w", err)
		}
	}
	return all, nil
}

func sayTo(w io.Writer) func(string, ...any) {
	if w == nil {
		return func(string, ...any) {}
	}
	var mu sync.Mutex
	return func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(w, "test cluster: "+format+"\n", args...)
	}
}
