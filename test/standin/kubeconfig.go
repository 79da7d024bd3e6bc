package standin

import (
	"encoding/base64"

	"sigs.k8s.io/yaml"
)

// User is how somebody shows to an API server who it is, as it stands in a
// kubeconfig of AKS. Certificate, key and token may be there together, as they
// are in a cluster with local accounts; the zero value is the plugin of
// [AKSServerID].
type User struct {
	// Certificate and Key are in PEM.
	Certificate, Key []byte
	Token            string
	// ServerID is the application that kubelogin asks a token for.
	ServerID string
	// AuthProvider has the azure auth provider, which Kubernetes 1.26 took out, in
	// place of kubelogin.
	AuthProvider bool
	// Raw is the whole user, for what AKS would not hand out.
	Raw map[string]any
}

func (u User) plugin() bool { return len(u.Certificate) == 0 && u.Token == "" && u.Raw == nil }

func (u User) object(tenant string) map[string]any {
	server := u.ServerID
	if server == "" {
		server = AKSServerID
	}
	switch {
	case u.Raw != nil:
		return u.Raw
	case u.plugin() && u.AuthProvider:
		return map[string]any{"auth-provider": map[string]any{"name": "azure", "config": map[string]any{
			"apiserver-id": server, "client-id": AKSClientID, "config-mode": "1", "environment": "AzurePublicCloud", "tenant-id": tenant,
		}}}
	case u.plugin():
		return map[string]any{"exec": map[string]any{
			"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "kubelogin", "env": nil, "provideClusterInfo": false,
			"args": []string{"get-token", "--environment", "AzurePublicCloud", "--server-id", server, "--client-id", AKSClientID,
				"--tenant-id", tenant, "--login", "devicecode"},
			"installHint": "\nkubelogin is not installed which is required to connect to AAD enabled cluster.\n\n" +
				"To learn more, please go to https://aka.ms/aks/kubelogin\n",
		}}
	}
	object := map[string]any{}
	if len(u.Certificate) > 0 {
		object["client-certificate-data"] = base64.StdEncoding.EncodeToString(u.Certificate)
		object["client-key-data"] = base64.StdEncoding.EncodeToString(u.Key)
	}
	if u.Token != "" {
		object["token"] = u.Token
	}
	return object
}

// kubeconfig is what AKS hands out: as `az aks get-credentials --file -` shows it.
func kubeconfig(server string, ca []byte, cluster, user string, object map[string]any) []byte {
	b, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": cluster, "preferences": map[string]any{},
		"clusters": []any{map[string]any{"name": cluster, "cluster": map[string]any{
			"server": server, "certificate-authority-data": base64.StdEncoding.EncodeToString(ca),
		}}},
		"contexts": []any{map[string]any{"name": cluster, "context": map[string]any{"cluster": cluster, "user": user}}},
		"users":    []any{map[string]any{"name": user, "user": object}},
	})
	if err != nil {
		panic(err) // Only texts, lists and maps are in it.
	}
	return b
}
