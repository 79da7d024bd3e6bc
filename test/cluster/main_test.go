package cluster_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/cluster"
)

// c is shared by the tests that only add to a cluster.
var c *cluster.Cluster

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(childMain())
	}
	authentication, err := filepath.Abs("testdata/authentication.yaml")
	if err != nil {
		panic(err)
	}
	os.Exit(cluster.Main(m, cluster.Options{
		Users:         []cluster.User{{Name: "reader", Groups: []string{"readers"}}},
		APIServerArgs: []string{"--authentication-config=" + authentication},
	}, &c))
}

// needRealNode leaves a test out where pods are only played, and fails it on a
// machine that is there to test everything.
func needRealNode(t *testing.T) {
	t.Helper()
	if c.RealNode() {
		return
	}
	if os.Getenv("CI") == "true" && os.Getenv(cluster.NodeEnv) != string(cluster.Kwok) {
		t.Fatal("this test needs real containers, and this machine is one that must have them (CI=true): run it as root on Linux")
	}
	t.Skip("left out: pods are only played here; run as root on Linux for real containers")
}
