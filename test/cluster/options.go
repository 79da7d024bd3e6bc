package cluster

import (
	"io"

	"github.com/aks-oneshot/aks-oneshot/test/cluster/internal/build"
	"github.com/aks-oneshot/aks-oneshot/test/cluster/internal/control"
)

// Node says who runs the pods.
type Node string

const (
	// Auto is Kubelet where that is possible, and Kwok elsewhere.
	Auto Node = ""
	// Kubelet runs pods as real containers. It needs Linux and root.
	Kubelet Node = "kubelet"
	// Kwok plays a node: pods change their status and run nothing.
	Kwok Node = "kwok"
)

// Environment variables that change every cluster.
const (
	// NodeEnv overrides Options.Node.
	NodeEnv = "ONESHOT_TEST_NODE"
	// CacheEnv moves the folder of finished builds.
	CacheEnv = build.CacheEnv
	// LogsEnv names a folder that the logs are copied to when a cluster ends.
	LogsEnv = "ONESHOT_TEST_LOGS"
)

// User is somebody whom the API server knows by a token. Without a role a user
// may do nothing: apply the RBAC objects that the test is about. An empty token
// is replaced by a random one.
type User = control.User

// Admin is the user who may do everything.
const Admin = control.Admin

// Options of a cluster. The zero value is good.
type Options struct {
	// Dir is the folder for all state: a new or empty one, or what an ended
	// cluster left. It is removed at the end. A temporary one when empty.
	Dir string
	// Log receives progress, a line at a time; nil for none.
	Log io.Writer
	// Node says who runs the pods.
	Node Node
	// Users are known to the API server beside Admin.
	Users []User
	// APIServerArgs are added to the API server's flags. Files in them need
	// absolute paths, and not below /run or /var/log, which are a cluster's own.
	APIServerArgs []string
	// Images are archives (docker save or OCI layout) to import beside the test
	// program's. Without a real node they are ignored.
	Images []string

	detached bool
}
