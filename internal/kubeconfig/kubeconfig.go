// Package kubeconfig reads the files that say where a cluster is and who one is
// there, into client-go's connection settings. It takes less than kubectl does,
// since what runs here decides what runs in a cluster.
package kubeconfig

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"regexp"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// Read returns the connection that the current context of a kubeconfig stands
// for. data is the file's content, YAML or JSON; reading the file, and judging
// who else could, is the caller's business.
//
// The server is https and verified, and the user is a token, a client certificate
// or a name and password. Credential plugins (exec,
// auth-provider) are refused: they are programs that this container does not
// have and that nobody reviewed. Of the files that a kubeconfig can name
// (certificate-authority, client-certificate, client-key, tokenFile) only
// absolute paths are taken, since there is no folder that a relative one could
// be relative to. They are read here, once; a tokenFile is read again every
// minute, as Kubernetes rotates such files.
//
// Only the current context, its cluster and its user are looked at. The error is
// config-invalid and names the field; it holds no value that could be secret.
//
// https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
func Read(data []byte) (*rest.Config, error) {
	cluster, user, err := load(data)
	if err != nil {
		return nil, err
	}
	cfg := &rest.Config{}
	if err := setCluster(cfg, cluster.spec, cluster.path); err != nil {
		return nil, err
	}
	if err := setUser(cfg, user.spec, user.path); err != nil {
		return nil, err
	}
	if err := usable(cfg); err != nil {
		return nil, err
	}
	return cfg, nil
}

// load returns what the current context of a kubeconfig names.
func load(data []byte) (cluster named[clientcmdapi.Cluster], user named[clientcmdapi.AuthInfo], err error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return cluster, user, invalid(whole, "is empty")
	}
	file, err := clientcmd.Load(data)
	if err != nil {
		return cluster, user, notKubeconfig(err)
	}
	return current(file)
}

// usable checks what can only be seen of the certificates and keys together.
func usable(cfg *rest.Config) error {
	if _, err := rest.TLSConfigFor(cfg); err != nil {
		return invalid(whole, "has certificates that are not usable: %w", err)
	}
	return nil
}

// whole is the path of the kubeconfig itself.
const whole = "kubeconfig"

// named is an entry of a kubeconfig's list together with its place in it.
type named[T any] struct {
	spec *T
	path string
}

// current follows the current context to its cluster and its user.
func current(file *clientcmdapi.Config) (cluster named[clientcmdapi.Cluster], user named[clientcmdapi.AuthInfo], err error) {
	name := file.CurrentContext
	if name == "" {
		return cluster, user, invalid("kubeconfig.current-context", "is not set").
			WithFix("Set it with kubectl config use-context NAME")
	}
	context, path := file.Contexts[name], fmt.Sprintf("kubeconfig.contexts[%q]", name)
	if context == nil {
		return cluster, user, invalid("kubeconfig.current-context", "names context %q, which the kubeconfig does not have", name)
	}
	cluster = named[clientcmdapi.Cluster]{file.Clusters[context.Cluster], fmt.Sprintf("kubeconfig.clusters[%q].cluster", context.Cluster)}
	if cluster.spec == nil {
		return cluster, user, invalid(path+".context.cluster", "names cluster %q, which the kubeconfig does not have", context.Cluster)
	}
	user = named[clientcmdapi.AuthInfo]{file.AuthInfos[context.AuthInfo], fmt.Sprintf("kubeconfig.users[%q].user", context.AuthInfo)}
	if user.spec == nil {
		return cluster, user, invalid(path+".context.user", "names user %q, which the kubeconfig does not have", context.AuthInfo)
	}
	return cluster, user, nil
}

func setCluster(cfg *rest.Config, cluster *clientcmdapi.Cluster, path string) error {
	if _, err := ServerURL(cluster.Server); err != nil {
		return invalid(path+".server", "%w", err)
	}
	if cluster.InsecureSkipTLSVerify {
		return invalid(path+".insecure-skip-tls-verify", "is true, so anybody on the way could answer as the API server").
			WithFix("Remove it and set certificate-authority-data to the cluster's CA")
	}
	cfg.Host = cluster.Server
	cfg.ServerName = cluster.TLSServerName
	if cluster.ProxyURL != "" {
		proxy, err := url.Parse(cluster.ProxyURL)
		if err != nil || proxy.Host == "" || (proxy.Scheme != "http" && proxy.Scheme != "https" && proxy.Scheme != "socks5") {
			return invalid(path+".proxy-url", "is not an http, https or socks5 URL")
		}
		cfg.Proxy = http.ProxyURL(proxy)
	}
	var err error
	cfg.CAData, err = dataOrFile(path+".certificate-authority", cluster.CertificateAuthorityData, cluster.CertificateAuthority)
	return err
}

func setUser(cfg *rest.Config, user *clientcmdapi.AuthInfo, path string) (err error) {
	switch {
	case user.Exec != nil:
		return refusePlugin(path+".exec", fmt.Sprintf("exec plugin %q", user.Exec.Command))
	case user.AuthProvider != nil:
		return refusePlugin(path+".auth-provider", fmt.Sprintf("auth-provider plugin %q", user.AuthProvider.Name))
	}
	if cfg.CertData, err = dataOrFile(path+".client-certificate", user.ClientCertificateData, user.ClientCertificate); err != nil {
		return err
	}
	if cfg.KeyData, err = dataOrFile(path+".client-key", user.ClientKeyData, user.ClientKey); err != nil {
		return err
	}
	if (len(cfg.CertData) == 0) != (len(cfg.KeyData) == 0) {
		return invalid(path, "has one of client certificate and client key, and needs the other too")
	}
	if cfg.BearerToken, cfg.BearerTokenFile, err = token(user, path); err != nil {
		return err
	}
	cfg.Username, cfg.Password = user.Username, user.Password
	hasToken, hasName := cfg.BearerToken != "", user.Username != ""
	switch {
	case hasToken && hasName:
		return invalid(path, "has a token and a username; keep the one that is to be used")
	case !hasToken && !hasName && len(cfg.CertData) == 0:
		return invalid(path, "has no credential").
			WithFix("Give it a token or a client certificate")
	}
	cfg.Impersonate = rest.ImpersonationConfig{
		UserName: user.Impersonate,
		UID:      user.ImpersonateUID,
		Groups:   user.ImpersonateGroups,
		Extra:    user.ImpersonateUserExtra,
	}
	if user.Impersonate == "" && (user.ImpersonateUID != "" || len(user.ImpersonateGroups) > 0 || len(user.ImpersonateUserExtra) > 0) {
		return invalid(path+".as", "is empty, but uid, groups or extra fields to act as are given")
	}
	return nil
}

// lineNumber finds the one part of a parser's message that cannot hold a part
// of the file.
var lineNumber = regexp.MustCompile(`\bline [0-9]+\b`)

func notKubeconfig(err error) error {
	where := ""
	if line := lineNumber.FindString(err.Error()); line != "" {
		where = " (" + line + ")"
	}
	return invalid(whole, "is not a kubeconfig%s: want YAML or JSON of apiVersion v1, kind Config, with clusters, users and contexts, each name once", where)
}

func refusePlugin(path, what string) error {
	return invalid(path, "names the %s; credential plugins are not run here", what).
		WithFix("Use a kubeconfig with a token or a client certificate (AKS: az aks get-credentials --admin), or the action's own OIDC inputs")
}

func invalid(path, format string, args ...any) *failure.Error {
	return failure.New(failure.ConfigInvalid, format, args...).At(path)
}
