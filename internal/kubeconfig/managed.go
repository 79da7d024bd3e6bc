package kubeconfig

import (
	"errors"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// ManagedError says why a kubeconfig that was handed out is not taken. It holds no
// value that could be secret. What it means to the run is for the caller to say, who
// asked for the kubeconfig, so it has no code; nor a fix, since there is no file that
// somebody could correct.
type ManagedError struct {
	// Field is the path of the field at fault; "kubeconfig" is all of it.
	Field string
	// Problem says what is wrong with the field, of which it is the predicate.
	Problem string

	err error
}

// Error tells the field and what is wrong with it.
func (e *ManagedError) Error() string {
	if e.Field == whole {
		return "it " + e.Problem
	}
	return e.Field + ": " + e.Problem
}

// Unwrap returns the cause, or nil.
func (e *ManagedError) Unwrap() error { return e.err }

// ReadManaged is [Read] for a kubeconfig that a remote service handed out, as
// Azure Resource Manager does for a managed cluster. Such an answer says where
// the cluster is, by which CA one knows it, and how one signs in there. It must not
// make this process read a file, speak to a proxy, or act as another, so whatever
// names one is refused; nor take a server for the cluster's that has not the
// cluster's certificate, so the CA is needed and the server's name is the one in its
// address.
//
// A user that signs in by a credential plugin is returned as that plugin, whose
// place the caller takes: it is not run, and the connection has no credential. For
// any other user, who has a token or a client certificate, the plugin is nil.
//
// The error is a [*ManagedError].
func ReadManaged(data []byte) (*rest.Config, *Plugin, error) {
	cfg, plugin, err := readManaged(data)
	if e, ok := errors.AsType[*failure.Error](err); ok {
		err = &ManagedError{Field: e.Field, Problem: e.Message, err: e.Err}
	}
	if err != nil {
		return nil, nil, err
	}
	return cfg, plugin, nil
}

// maxManaged bounds such a kubeconfig, in bytes, as a user's own is bounded. AKS
// hands out about 10 KiB.
const maxManaged = 1 << 20

func readManaged(data []byte) (*rest.Config, *Plugin, error) {
	if len(data) > maxManaged {
		return nil, nil, invalid("kubeconfig", "is larger than %d bytes", maxManaged)
	}
	cluster, user, err := load(data)
	if err != nil {
		return nil, nil, err
	}
	if err := selfContained(cluster, user); err != nil {
		return nil, nil, err
	}
	cfg := &rest.Config{}
	if err := setCluster(cfg, cluster.spec, cluster.path); err != nil {
		return nil, nil, err
	}
	if len(cfg.CAData) == 0 {
		// The system's authorities, and those of SSL_CERT_FILE, would count instead.
		return nil, nil, invalid(cluster.path+".certificate-authority-data", "is missing, so the cluster could not be told from another server")
	}
	plugin, err := pluginOf(user)
	if err == nil && plugin == nil {
		err = setUser(cfg, user.spec, user.path)
	}
	if err == nil {
		err = usable(cfg)
	}
	return cfg, plugin, err
}

// selfContained refuses what leads out of the kubeconfig, and what no managed
// cluster has.
func selfContained(cluster named[clientcmdapi.Cluster], user named[clientcmdapi.AuthInfo]) error {
	c, u := cluster.spec, user.spec
	const (
		file, proxy, another = "names a file of this machine", "names a proxy", "asks to act as another"
		otherHost, basic     = "has another host's certificate taken for the server's", "signs in by name and password"
	)
	for _, field := range []struct {
		path  string
		given bool
		what  string
	}{
		{cluster.path + ".certificate-authority", c.CertificateAuthority != "", file},
		{cluster.path + ".proxy-url", c.ProxyURL != "", proxy},
		{cluster.path + ".tls-server-name", c.TLSServerName != "", otherHost},
		{user.path + ".client-certificate", u.ClientCertificate != "", file},
		{user.path + ".client-key", u.ClientKey != "", file},
		{user.path + ".tokenFile", u.TokenFile != "", file},
		{user.path + ".username", u.Username != "", basic},
		{user.path + ".password", u.Password != "", basic},
		{user.path + ".as", u.Impersonate != "", another},
		{user.path + ".as-uid", u.ImpersonateUID != "", another},
		{user.path + ".as-groups", len(u.ImpersonateGroups) > 0, another},
		{user.path + ".as-user-extra", len(u.ImpersonateUserExtra) > 0, another},
	} {
		if field.given {
			return invalid(field.path, "%s, which a kubeconfig that was handed out must not do", field.what)
		}
	}
	return nil
}
