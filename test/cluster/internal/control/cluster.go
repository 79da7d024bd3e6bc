package control

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Cluster is the set of running programs.
type Cluster struct {
	spec   *Spec
	port   int
	client *client
	say    func(format string, args ...any)
	begin  time.Time

	etcd, apiserver, manager, scheduler *process
	containerd, kubelet, kwok           *process
}

// Up starts all programs and returns when the node is ready and work can be
// created. After a failure the caller stops what was started.
func Up(ctx context.Context, spec *Spec, say func(string, ...any)) (*Cluster, error) {
	c := &Cluster{spec: spec, say: say, begin: time.Now()}
	var err error
	if c.port, err = reservePort(); err != nil {
		return c, err
	}
	if err := c.writeFiles(); err != nil {
		return c, fmt.Errorf("could not write the cluster's files: %w", err)
	}
	if c.client, err = newClient(c.server(), spec.path(CAFile), spec.token(Admin)); err != nil {
		return c, err
	}
	c.etcd, c.apiserver, c.manager, c.scheduler = c.newEtcd(), c.newAPIServer(), c.newControllerManager(), c.newScheduler()
	node := c.realNode
	if spec.RealNode() {
		c.containerd, c.kubelet = c.newContainerd(), c.newKubelet()
	} else {
		c.kwok, node = c.newKwok(), c.playedNode
	}
	up := make(chan struct{})
	return c, together(ctx,
		func(ctx context.Context) error { return c.controlPlane(ctx, up) },
		func(ctx context.Context) error { return node(ctx, up) },
	)
}

// controlPlane starts everything but the node, and closes up once the API
// server answers.
func (c *Cluster) controlPlane(ctx context.Context, up chan<- struct{}) error {
	// The API server tries again until etcd answers: both may start at once.
	if err := errors.Join(c.etcd.start(), c.apiserver.start()); err != nil {
		return err
	}
	if err := c.waitAPIServer(ctx); err != nil {
		return err
	}
	c.note("API server")
	close(up)
	if err := errors.Join(c.manager.start(), c.scheduler.start()); err != nil {
		return err
	}
	if err := c.waitAccount(ctx); err != nil {
		return err
	}
	c.note("controllers")
	return nil
}

// Info tells the outside how to reach the cluster.
func (c *Cluster) Info() Info {
	return Info{Dir: c.spec.Dir, Server: c.server(), RealNode: c.spec.RealNode()}
}

func (c *Cluster) server() string { return fmt.Sprintf("https://127.0.0.1:%d", c.port) }

func (c *Cluster) note(what string) {
	c.say("%s ready after %.1f s", what, time.Since(c.begin).Seconds())
}

// waitAccount waits for what the first pod in the default namespace needs.
func (c *Cluster) waitAccount(ctx context.Context) error {
	return until(ctx, "waiting for the default ServiceAccount", c.all(), func(ctx context.Context) error {
		return c.client.get(ctx, "/api/v1/namespaces/default/serviceaccounts/default", nil)
	})
}

// waitNode waits until the node is ready and its taint of the first moments is
// gone: before that the scheduler would call pods unschedulable.
func (c *Cluster) waitNode(ctx context.Context) error {
	return until(ctx, "waiting for the node", c.all(), func(ctx context.Context) error {
		var node struct {
			Spec   struct{ Taints []struct{ Key string } }
			Status struct {
				Conditions []struct{ Type, Status, Message string }
			}
		}
		if err := c.client.get(ctx, "/api/v1/nodes/"+NodeName, &node); err != nil {
			return err
		}
		for _, t := range node.Spec.Taints {
			return fmt.Errorf("the node has the taint %s", t.Key)
		}
		for _, n := range node.Status.Conditions {
			if n.Type == "Ready" && n.Status == "True" {
				return nil
			}
		}
		return fmt.Errorf("the node is not ready: %+v", node.Status.Conditions)
	})
}

// process describes a program that runs in the cluster's folder, with an
// environment that is the same wherever the cluster is started from.
func (c *Cluster) process(name, path string, args ...string) *process {
	return &process{
		name: name,
		argv: append([]string{path}, args...),
		log:  filepath.Join(c.spec.path(LogFolder), name+".log"),
		dir:  c.spec.Base,
		env: []string{
			"PATH=" + os.Getenv("PATH") + ":/usr/local/sbin:/usr/sbin:/sbin",
			"HOME=" + c.spec.Base,
			"TMPDIR=" + c.spec.path("tmp"),
			"GOGC=400", // all of them live short and start hard
		},
	}
}

// all lists the processes there are, in the order in which they are stopped.
func (c *Cluster) all() []*process {
	var all []*process
	for _, p := range []*process{c.kubelet, c.kwok, c.scheduler, c.manager, c.apiserver, c.etcd, c.containerd} {
		if p != nil {
			all = append(all, p)
		}
	}
	return all
}

// Fault returns the first program's end that nobody asked for.
func (c *Cluster) Fault() error {
	for _, p := range c.all() {
		if err := p.ended(); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends all programs in order, waiting for each one.
func (c *Cluster) Stop(ctx context.Context) {
	for _, p := range c.all() {
		_ = p.stop(ctx, 2*time.Second)
	}
}
