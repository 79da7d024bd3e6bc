package cluster_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/cluster"
)

// TestAPIServerStopsAndStarts has a cluster of its own, and with it shows that
// two run at the same time.
func TestAPIServerStopsAndStarts(t *testing.T) {
	t.Parallel()
	own := start(t, cluster.Options{})
	server := own.Server()
	if server == c.Server() || own.Dir() == c.Dir() {
		t.Fatalf("two clusters share %s and %s", server, own.Dir())
	}
	if err := own.Apply(t.Context(), `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}}`); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := own.StopAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("stopped in %v", time.Since(begin))
	if _, err := net.Dial("tcp", strings.TrimPrefix(server, "https://")); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a stopped API server's port gives %v, want a refused connection", err)
	}
	events, err := own.Audit(t.Context(), func(e cluster.AuditEvent) bool { return e.Name == "kept" && e.Code == 201 })
	if err != nil {
		t.Fatal(err)
	}
	if err := own.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("started again after %v", time.Since(begin))
	if own.Server() != server {
		t.Errorf("the API server moved from %s to %s", server, own.Server())
	}
	if _, err := own.Kubectl(t.Context(), nil, "get", "configmap/kept"); err != nil {
		t.Errorf("what was there before is gone: %v", err)
	}
	if err := own.RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, err := own.Audit(t.Context(), func(e cluster.AuditEvent) bool { return e.Name == "kept" })
	if err != nil {
		t.Fatal(err)
	}
	if len(events) != 1 || len(after) <= len(events) {
		t.Errorf("%d events before the start and %d after it: the audit log must go on", len(events), len(after))
	}
	if err := own.Fault(); err != nil {
		t.Errorf("a wanted stop counts as a fault: %v", err)
	}
}

func TestPausedAPIServerIsSilent(t *testing.T) {
	t.Parallel()
	own := start(t, cluster.Options{})
	if err := own.PauseAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	address := strings.TrimPrefix(own.Server(), "https://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatalf("a paused API server does not accept connections: %v", err)
	}
	defer conn.Close()
	if err := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a paused API server's handshake gives %v, want no answer", err)
	}
	if err := own.ResumeAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := own.Kubectl(t.Context(), nil, "get", "nodes"); err != nil {
		t.Errorf("after the pause: %v", err)
	}
	// A test that fails in between leaves it paused: the end must work all the same.
	if err := own.PauseAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := own.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestAPIServerArguments(t *testing.T) {
	t.Parallel()
	_, err := cluster.Start(t.Context(), cluster.Options{APIServerArgs: []string{"--no-such-flag"}})
	if err == nil || !strings.Contains(err.Error(), "unknown flag: --no-such-flag") {
		t.Errorf("a wrong flag gives %v, want the API server's own words", err)
	}
}

func TestAuthenticationConfig(t *testing.T) {
	t.Parallel()
	if _, err := c.Kubectl(t.Context(), nil, "--kubeconfig=/dev/null", "--server="+c.Server(), "--certificate-authority="+c.CAFile(), "get", "--raw", "/version"); err == nil {
		t.Error("nobody may be anonymous with the configuration that was given")
	}
	out, err := c.Kubectl(t.Context(), nil, "--kubeconfig="+c.KubeconfigFor("reader"), "auth", "whoami", "-o", "jsonpath={.status.userInfo.username} {.status.userInfo.groups}")
	if want := `reader ["readers","system:authenticated"]`; err != nil || string(out) != want {
		t.Errorf("the token belongs to %s, %v; want %s", out, err, want)
	}
}

// start starts a cluster for one test.
func start(t *testing.T, o cluster.Options) *cluster.Cluster {
	t.Helper()
	o.Log = t.Output()
	own, err := cluster.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		begin := time.Now()
		if err := own.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		t.Logf("stopped in %v", time.Since(begin))
	})
	return own
}
