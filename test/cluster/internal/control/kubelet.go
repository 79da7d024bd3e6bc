package control

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

func (c *Cluster) newKubelet() *process {
	return c.process("kubelet", c.spec.Programs.Kubernetes, "kubelet",
		"--config=kubelet.yaml", "--kubeconfig="+KubeconfigFile(nodeUser),
		"--root-dir="+c.spec.path("kubelet"), "--cert-dir="+c.spec.path("kubelet/pki"),
		"--hostname-override="+NodeName,
	)
}

// kubeletConfig leaves the machine alone where it can: no reserved resources,
// no iptables, no resolv.conf, cgroups below a parent of the cluster's own.
func (c *Cluster) kubeletConfig(port int) []byte {
	return fmt.Appendf(nil, `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 127.0.0.1
port: %d
readOnlyPort: 0
healthzPort: 0
tlsCertFile: %s
tlsPrivateKeyFile: %s
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}, x509: {clientCAFile: %s}}
authorization: {mode: AlwaysAllow}
containerRuntimeEndpoint: unix://%s
cgroupDriver: cgroupfs
cgroupRoot: %s
enforceNodeAllocatable: []
failSwapOn: false
failCgroupV1: false
makeIPTablesUtilChains: false
oomScoreAdj: 0
resolvConf: ""
podLogsDir: %s
volumePluginDir: %s
registerWithTaints: []
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: 50Mi, nodefs.available: 1%%, imagefs.available: 1%%}
`, port, c.spec.path("pki/kubelet.crt"), c.spec.path("pki/kubelet.key"), c.spec.path(CAFile),
		c.spec.path(criSocket), c.spec.Cgroup, c.spec.path("pods"), c.spec.path("plugins"))
}

// realNode starts containerd at once, the kubelet when the API server answers,
// and waits for the node.
func (c *Cluster) realNode(ctx context.Context, up <-chan struct{}) error {
	if err := c.startContainerd(ctx); err != nil {
		return err
	}
	c.note("containerd with its images")
	select {
	case <-up:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	var err error
	for range 3 {
		if err = c.startKubelet(); err != nil {
			return err
		}
		if err = c.waitNode(ctx); err == nil {
			c.note("node")
			return nil
		}
		if c.kubelet.ended() == nil || !strings.Contains(Tail(c.kubelet.log, 50), portTaken) {
			break
		}
	}
	return err
}

func (c *Cluster) startKubelet() error {
	port, err := freePort()
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(c.spec.path("kubelet.yaml"), c.kubeletConfig(port), 0o600),
		c.kubelet.start(),
	)
}
