// Command kubernetes is all of Kubernetes that a one-node test cluster needs,
// and etcd, in one binary: linking programs that share nearly all their
// packages once is what keeps the build and the cache small.
//
//	kubernetes etcd|apiserver|controller-manager|scheduler|kubelet|kubectl [flags]
//
// Started under the name kubectl (a symbolic link), it is kubectl.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	if name != "kubectl" {
		if len(os.Args) < 2 {
			usage()
		}
		// Each program reads os.Args itself, so the name of the program goes.
		name = os.Args[1]
		os.Args = append(os.Args[:1], os.Args[2:]...)
	}
	if name == "etcd" {
		etcdmain.Main(os.Args)
		return
	}
	os.Exit(cli.Run(command(name)))
}

func command(name string) *cobra.Command {
	switch name {
	case "apiserver":
		return apiserver.NewAPIServerCommand()
	case "controller-manager":
		return manager.NewControllerManagerCommand()
	case "scheduler":
		return scheduler.NewSchedulerCommand()
	case "kubelet":
		return kubelet.NewKubeletCommand(context.Background())
	case "kubectl":
		return cmd.NewDefaultKubectlCommand()
	}
	usage()
	return nil
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: kubernetes etcd|apiserver|controller-manager|scheduler|kubelet|kubectl [flags]")
	os.Exit(2)
}
