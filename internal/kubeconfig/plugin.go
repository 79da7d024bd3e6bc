package kubeconfig

import (
	"regexp"
	"slices"
	"strings"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Plugin is what a kubeconfig says of the credential plugin that its user signs in
// by. It is read and never run.
type Plugin struct {
	serverID string
}

// ServerID returns the id of the application, a GUID in lower case, that tokens for
// the API server are issued for; "" when the plugin names none.
//
// It is --server-id of kubelogin, which an exec plugin of AKS runs, and
// apiserver-id of the auth-provider azure, which older clusters have.
// https://azure.github.io/kubelogin/cli/get-token.html
func (p *Plugin) ServerID() string { return p.serverID }

// pluginOf returns the user's plugin, or nil when there is none.
func pluginOf(user named[clientcmdapi.AuthInfo]) (*Plugin, error) {
	exec, provider := user.spec.Exec, user.spec.AuthProvider
	switch {
	case exec == nil && provider == nil:
		return nil, nil
	case exec != nil && provider != nil:
		return nil, invalid(user.path, "has an exec plugin and an auth-provider, so it is not clear which one counts")
	case slices.ContainsFunc([]string{user.spec.Token, string(user.spec.ClientCertificateData), string(user.spec.ClientKeyData)}, given):
		return nil, invalid(user.path, "has a plugin and another credential, so it is not clear which one counts")
	case exec != nil:
		id, err := serverID(user.path+".exec.args", flagOf(exec.Args, "server-id"))
		return &Plugin{id}, err
	}
	id, err := serverID(user.path+".auth-provider.config", provider.Config["apiserver-id"])
	return &Plugin{id}, err
}

func given(value string) bool { return value != "" }

// flagOf returns the value of a flag, as --name value or --name=value. The last one
// counts, and what follows "--" is no flag (spf13/pflag, which kubelogin uses).
func flagOf(args []string, name string) (value string) {
	name = "--" + name
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		if text, ok := strings.CutPrefix(args[i], name+"="); ok {
			value = text
		} else if args[i] == name && i+1 < len(args) {
			i++
			value = args[i]
		}
	}
	return value
}

var guid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// serverID returns an application's id. Anything else could be the address of
// another service, a token for which is not to be sent to an API server.
func serverID(path, id string) (string, error) {
	id = strings.ToLower(strings.TrimSpace(id))
	if id != "" && !guid.MatchString(id) {
		return "", invalid(path, "name a server whose id is not that of an application; want a GUID")
	}
	return id, nil
}
