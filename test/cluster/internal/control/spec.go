// Package control starts, watches and stops the programs of a test cluster.
// It knows how each one is configured and nothing of who asked for the cluster.
package control

import (
	"path/filepath"
	"slices"
)

// NodeName is the name of the only node.
const NodeName = "localhost"

// User is somebody whom the API server knows by a token.
type User struct {
	Name   string
	Token  string
	Groups []string
}

// Programs are the paths of what is run.
type Programs struct {
	Kubernetes string // etcd and all of Kubernetes
	// Containerd and Ctr are set for a real node, Kwok for one that is played.
	Containerd string `json:",omitempty"`
	Ctr        string `json:",omitempty"`
	Loopback   string `json:",omitempty"` // the CNI plugin
	Kwok       string `json:",omitempty"`
}

// Spec says what cluster to make. It is plain data because it is handed from
// the process that wants the cluster to the one that runs it.
type Spec struct {
	// Dir is the folder as the outside sees it: it holds all state.
	Dir string
	// Base is the same folder as the programs see it. It differs from Dir for a
	// real node, which has a mount namespace of its own.
	Base string
	// Cgroup is the parent of all pods' cgroups, for a real node.
	Cgroup string `json:",omitempty"`

	Programs      Programs
	Archives      []string `json:",omitempty"` // images to import
	Users         []User
	APIServerArgs []string `json:",omitempty"`
}

// RealNode says whether pods are real containers.
func (s *Spec) RealNode() bool { return s.Programs.Containerd != "" }

// The users that the cluster itself needs. The first is for its owner.
const (
	Admin             = "admin"
	controllerManager = "system:kube-controller-manager"
	scheduler         = "system:kube-scheduler"
	nodeUser          = "system:node:" + NodeName
	kwokUser          = "kwok"
)

// OwnUsers returns the users that every cluster has, with tokens made by token.
func OwnUsers(token func() string) []User {
	return []User{
		{Name: Admin, Token: token(), Groups: []string{"system:masters"}},
		{Name: controllerManager, Token: token()},
		{Name: scheduler, Token: token()},
		{Name: nodeUser, Token: token(), Groups: []string{"system:nodes"}},
		{Name: kwokUser, Token: token(), Groups: []string{"system:masters"}},
	}
}

func (s *Spec) token(user string) string {
	i := slices.IndexFunc(s.Users, func(u User) bool { return u.Name == user })
	if i < 0 {
		return ""
	}
	return s.Users[i].Token
}

// path names a file of the cluster as its programs see it.
func (s *Spec) path(elem ...string) string {
	return filepath.Join(append([]string{s.Base}, elem...)...)
}

// Info is what the outside needs of a cluster that is ready.
type Info struct {
	Dir      string
	Server   string
	RealNode bool
}
