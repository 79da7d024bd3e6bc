package cluster_test

import (
	"os"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/cluster"
)

var c *cluster.Cluster

func TestMain(m *testing.M) { os.Exit(cluster.Main(m, cluster.Options{}, &c)) }
