// Package supervise keeps a cluster's programs alive exactly as long as the
// process that asked for them, and leaves nothing behind.
//
// Three processes stand between the one that wants the cluster and the
// cluster's programs, all of them the same executable started again under
// another name:
//
//	supervisor  outlives its owner. When the owner is gone, however it went, a
//	            pipe closes; the supervisor then ends everything and clears up.
//	init        for a real node: process 1 of a PID and mount namespace. When it
//	            is killed, the kernel ends every process, container and mount of
//	            the cluster with it. It only reaps orphans.
//	runner      starts the programs and obeys the owner's commands.
//
// Nothing on the machine is changed that would have to be restored by a process
// that might be killed first.
package supervise

import (
	"os"

	"github.com/aks-oneshot/aks-oneshot/test/cluster/internal/control"
)

// Prefix begins the names of folders and cgroups that belong to clusters.
const Prefix = "aks-oneshot-test-"

// Order is the first message from the owner.
type Order struct {
	Spec     control.Spec
	RealNode bool
	// Logs is a folder that the logs are copied to at the end; may be empty.
	Logs string
}

// Command is each further message from the owner.
type Command struct {
	ID int
	Do string // see control.Cluster.Do
}

// Event is a message to the owner; one field besides ID is set.
type Event struct {
	Log   string        `json:",omitempty"` // progress, for people
	Ready *control.Info `json:",omitempty"`
	Error string        `json:",omitempty"` // the start failed
	Fault string        `json:",omitempty"` // a program ended by itself
	Done  *Done         `json:",omitempty"` // a command was carried out
}

// Done is the answer to a command.
type Done struct {
	ID    int
	Error string `json:",omitempty"`
}

// The names under which the executable starts itself, and the files it inherits.
const (
	supervisorName = "aks-oneshot-cluster"
	initName       = "aks-oneshot-cluster-init"
	runnerName     = "aks-oneshot-cluster-runner"
	probeName      = "aks-oneshot-cluster-probe"

	ordersFD   = 3
	eventsFD   = 4
	lifelineFD = 5
)

// Reexec takes over the process if it was started as one of a cluster's own,
// and does not return then. It has to be called before anything else happens.
func Reexec() {
	switch os.Args[0] {
	case supervisorName:
		os.Exit(supervisorMain())
	case initName:
		os.Exit(initMain())
	case probeName:
		os.Exit(0)
	case runnerName:
		os.Exit(runnerMain())
	}
}

// self is the running executable, even if its file has been removed meanwhile,
// as `go run` and `go test` do.
func self() string {
	if _, err := os.Stat("/proc/self/exe"); err == nil {
		return "/proc/self/exe"
	}
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}
