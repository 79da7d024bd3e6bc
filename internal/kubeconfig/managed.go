package kubeconfig

import (
	"errors"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// ReadManaged is [Read] for a kubeconfig that a remote service handed out, as
// Azure Resource Manager does for a managed cluster. Such an answer says where
// the cluster is and how one signs in there. It must not make this process read a
// file, speak to a proxy, or act as another, so whatever names one is refused.
//
// A user that signs in by a credential plugin is returned as that plugin, whose
// place the caller takes: it is not run, and the connection has no credential. For
// any other user the plugin is nil.
//
// The error is a [*failure.Error] that names the field and holds no value that
// could be secret. What it means to the run is for the caller to say, who asked
// for the kubeconfig: its code is config-invalid and stands for nothing, and it
// has no fix, since there is no file that somebody could correct.
func ReadManaged(data []byte) (*rest.Config, *Plugin, error) {
	cfg, plugin, err := readManaged(data)
	if err != nil {
		if e, ok := errors.AsType[*failure.Error](err); ok {
			err = e.WithFix("")
		}
		return nil, nil, err
	}
	return cfg, plugin, nil
}

func readManaged(data []byte) (*rest.Config, *Plugin, error) {
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
	plugin, err := pluginOf(user)
	if err == nil && plugin == nil {
		err = setUser(cfg, user.spec, user.path)
	}
	if err == nil {
		err = usable(cfg)
	}
	return cfg, plugin, err
}

// selfContained refuses what leads out of the kubeconfig.
func selfContained(cluster named[clientcmdapi.Cluster], user named[clientcmdapi.AuthInfo]) error {
	c, u := cluster.spec, user.spec
	const file, proxy, another = "names a file of this machine", "names a proxy", "asks to act as another"
	for _, field := range []struct {
		path  string
		given bool
		what  string
	}{
		{cluster.path + ".certificate-authority", c.CertificateAuthority != "", file},
		{cluster.path + ".proxy-url", c.ProxyURL != "", proxy},
		{user.path + ".client-certificate", u.ClientCertificate != "", file},
		{user.path + ".client-key", u.ClientKey != "", file},
		{user.path + ".tokenFile", u.TokenFile != "", file},
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
