package control

import (
	"context"
	"fmt"
	"time"
)

// etcd listens on a Unix socket in the cluster's folder: whoever reaches etcd
// owns the cluster, so it must not be a port that every local user reaches.
// The name is relative because a socket's path may have 107 bytes at most.
const etcdURL = "unix://etcd.sock:0"

func (c *Cluster) newEtcd() *process {
	return c.process("etcd", c.spec.Programs.Kubernetes, "etcd",
		"--name=test", "--data-dir=etcd", "--log-level=warn", "--logger=zap",
		"--listen-client-urls="+etcdURL, "--advertise-client-urls="+etcdURL,
		"--listen-peer-urls=unix://peer.sock:0", "--initial-advertise-peer-urls=unix://peer.sock:0",
		"--initial-cluster=test=unix://peer.sock:0",
		"--unsafe-no-fsync", // nothing here has to outlive a crash
	)
}

func (c *Cluster) newAPIServer() *process {
	args := []string{"apiserver",
		"--etcd-servers=" + etcdURL,
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.port), "--permit-port-sharing=true",
		"--cert-dir=certs", "--tls-cert-file=pki/apiserver.crt", "--tls-private-key-file=pki/apiserver.key",
		"--token-auth-file=tokens.csv",
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=pki/sa.pub", "--service-account-signing-key-file=pki/sa.key",
		"--service-cluster-ip-range=127.96.0.0/16", "--endpoint-reconciler-type=none",
		"--kubelet-preferred-address-types=" + c.nodeAddressType(),
		"--kubelet-client-certificate=pki/kubelet-client.crt", "--kubelet-client-key=pki/kubelet-client.key",
		"--audit-policy-file=audit/policy.yaml", "--audit-log-path=" + AuditFile, "--audit-log-maxsize=1000",
		"--profiling=false",
		// Without it a stop waits for the watches of the node, which never end.
		"--shutdown-watch-termination-grace-period=1s",
	}
	return c.process("apiserver", c.spec.Programs.Kubernetes, append(args, c.spec.APIServerArgs...)...)
}

// nodeAddressType keeps requests to the node on loopback, whatever the
// machine's own address is.
func (c *Cluster) nodeAddressType() string {
	if c.spec.RealNode() {
		return "Hostname"
	}
	return "InternalIP"
}

func (c *Cluster) waitAPIServer(ctx context.Context) error {
	return until(ctx, "waiting for the API server", c.all(), func(ctx context.Context) error {
		return c.client.get(ctx, "/readyz", nil)
	})
}

// apiServerGrace is how long the API server may take to let requests finish.
const apiServerGrace = 10 * time.Second

func (c *Cluster) newControllerManager() *process {
	return c.process("controller-manager", c.spec.Programs.Kubernetes, "controller-manager",
		"--kubeconfig="+KubeconfigFile(controllerManager), "--leader-elect=false",
		"--secure-port=0", // nobody asks it anything
		"--service-account-private-key-file=pki/sa.key", "--root-ca-file="+CAFile,
		"--use-service-account-credentials=true",
		"--controllers=serviceaccount-controller,root-ca-certificate-publisher-controller,"+
			"job-controller,cronjob-controller,ttl-after-finished-controller,garbage-collector-controller,"+
			"namespace-controller,pod-garbage-collector-controller,node-lifecycle-controller,"+
			"taint-eviction-controller,resourcequota-controller,clusterrole-aggregation-controller",
	)
}

func (c *Cluster) newScheduler() *process {
	return c.process("scheduler", c.spec.Programs.Kubernetes, "scheduler",
		"--kubeconfig="+KubeconfigFile(scheduler), "--leader-elect=false", "--secure-port=0",
	)
}
