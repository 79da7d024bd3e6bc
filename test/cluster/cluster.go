// Package cluster runs a real Kubernetes on loopback, for tests and for people:
// etcd, the API server, the controller manager, the scheduler, and one node
// whose pods are real containers (or, without root, only played).
//
//	c, err := cluster.Start(ctx, cluster.Options{Log: os.Stderr})
//	if err != nil { … }
//	defer c.Stop(ctx)
//	err = c.Apply(ctx, manifest)
//	out, err := c.Kubectl(ctx, nil, "get", "jobs", "-o", "json")
//
// A cluster ends with the process that started it, however that ends, and
// leaves nothing behind. Any number may run at the same time.
//
// Importing this package lets the executable start itself again as the
// cluster's supervisor; it does so before main or TestMain runs.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/cluster/internal/control"
	"github.com/aks-oneshot/aks-oneshot/test/cluster/internal/supervise"
)

func init() { supervise.Reexec() }

// Cluster is a running cluster. Its methods may be used by several goroutines.
type Cluster struct {
	info     control.Info
	users    []User
	kubectl  string
	workload string
	link     *link
	audit    auditLog
}

// Start makes a cluster and returns when its node is ready and work can be
// created in the default namespace. When ctx ends before that, nothing remains.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	parts, err := prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	c := &Cluster{users: parts.order.Spec.Users, workload: parts.workload}
	if c.kubectl, err = linkKubectl(parts.order.Spec.Programs.Kubernetes); err != nil {
		return nil, err
	}
	begin := time.Now()
	if c.link, err = dial(&parts.order, o.detached, parts.say); err != nil {
		return nil, err
	}
	if c.info, err = c.link.ready(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("could not start the test cluster: %w", err), c.link.close(context.WithoutCancel(ctx)))
	}
	parts.say("cluster ready after %.1f s: %s", time.Since(begin).Seconds(), c.info.Server)
	return c, nil
}

// Stop ends the cluster and returns when nothing of it is left: no process,
// container, mount, cgroup, network namespace or file.
func (c *Cluster) Stop(ctx context.Context) error { return c.link.close(ctx) }

// Dir is the folder with all of the cluster's state.
func (c *Cluster) Dir() string { return c.info.Dir }

// RealNode tells whether pods are real containers, with real exit codes and logs.
func (c *Cluster) RealNode() bool { return c.info.RealNode }

// Server is the API server's address, https://127.0.0.1:port. It stays the same
// when the API server is stopped and started.
func (c *Cluster) Server() string { return c.info.Server }

// CAFile is the path of the certificate that the API server is checked with.
func (c *Cluster) CAFile() string { return filepath.Join(c.info.Dir, control.CAFile) }

// Kubeconfig is the path of Admin's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.KubeconfigFor(Admin) }

// KubeconfigFor is the path of a user's kubeconfig, readable by the owner only.
func (c *Cluster) KubeconfigFor(user string) string {
	return filepath.Join(c.info.Dir, control.KubeconfigFile(user))
}

// Token is a user's bearer token, or empty for a user whom nobody knows.
func (c *Cluster) Token(user string) string {
	i := slices.IndexFunc(c.users, func(u User) bool { return u.Name == user })
	if i < 0 {
		return ""
	}
	return c.users[i].Token
}

// Workload is the image of the test program, pinned by its digest. It is on the
// node: the pull policy must not be Always. See the folder workload for what
// the program does.
func (c *Cluster) Workload() string { return c.workload }

// Fault returns an error when one of the cluster's programs ended by itself.
func (c *Cluster) Fault() error { return c.link.failed() }

// Log returns the end of the log of one of the cluster's programs: etcd,
// apiserver, controller-manager, scheduler, containerd, kubelet or kwok.
func (c *Cluster) Log(program string, lines int) string {
	return control.Tail(filepath.Join(c.info.Dir, control.LogFolder, program+".log"), lines)
}

// Main runs a package's tests with one cluster, for TestMain:
//
//	var c *cluster.Cluster
//
//	func TestMain(m *testing.M) { os.Exit(cluster.Main(m, cluster.Options{}, &c)) }
func Main(m interface{ Run() int }, o Options, c **Cluster) int {
	if o.Log == nil {
		o.Log = os.Stderr
	}
	var err error
	if *c, err = Start(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := errors.Join((*c).Fault(), (*c).Stop(context.Background())); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}
