package kubeconfig

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// The user that AKS hands out for a cluster with Entra integration, in the two
// forms that there are, and some that there could be.
func TestPlugins(t *testing.T) {
	t.Parallel()
	const server, client = "6dae42f8-4368-4678-94ff-3960e28e3630", "80faf920-1908-4b52-b5ef-a8e7bedfc67a"
	exec := func(args string) string {
		return "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: kubelogin, installHint: x, provideClusterInfo: false, env: null, args: [" + args + "]}"
	}
	known := goodServer + "\n" + caField(authority(t))
	for name, test := range map[string]struct{ user, id string }{
		"as AKS writes it": {exec("get-token, --environment, AzurePublicCloud, --server-id, " + server + ", --client-id, " + client + ", --tenant-id, " + client + ", --login, devicecode"), server},
		"with =":           {exec("get-token, --server-id=" + server + ", --login=azurecli"), server},
		"in capitals":      {exec("--server-id, " + strings.ToUpper(server)), server},
		"twice":            {exec("--server-id, " + client + ", --server-id=" + server), server},
		"a flag's value":   {exec("--client-id, --server-id=" + server), server},
		"after the flags":  {exec("--, --server-id, " + server), ""},
		"nothing after it": {exec("get-token, --server-id"), ""},
		"another's":        {exec("--server-identity, " + server), ""},
		"no arguments":     {exec(""), ""},
		"of older clusters": {"auth-provider: {name: azure, config: {apiserver-id: " + server + ", client-id: " + client +
			", config-mode: '1', environment: AzurePublicCloud, tenant-id: " + client + "}}", server},
		"another provider": {"auth-provider: {name: oidc, config: {client-id: " + client + "}}", ""},
		"without config":   {"auth-provider: {name: azure}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, plugin, err := ReadManaged([]byte(kubeconfig(known, test.user)))
			if err != nil {
				t.Fatal(err)
			}
			if plugin == nil || plugin.ServerID() != test.id {
				t.Errorf("plugin %+v, want one with %q", plugin, test.id)
			}
			if cfg.Host != "https://api.example:443" || cfg.ExecProvider != nil || cfg.AuthProvider != nil || cfg.BearerToken != "" {
				t.Errorf("connection %v", cfg)
			}
			if _, err := rest.TransportFor(cfg); err != nil {
				t.Error(err)
			}
		})
	}
}

// The user of a cluster with local accounts.
func TestManagedKubeconfigWithACredential(t *testing.T) {
	t.Parallel()
	a := authority(t)
	certificate, _, _ := clientCertificate(t)
	var authorization, subject string
	s := serve(t, a, func(_ http.ResponseWriter, r *http.Request) {
		authorization, subject = r.Header.Get("Authorization"), ""
		if len(r.TLS.PeerCertificates) > 0 {
			subject = r.TLS.PeerCertificates[0].Subject.CommonName
		}
	})
	for user, want := range map[string][2]string{
		certificate:                    {"", "test"},
		certificate + "\n" + goodToken: {"Bearer " + testToken, "test"},
		goodToken:                      {"Bearer " + testToken, ""},
	} {
		cluster := "server: " + s.URL + "\n" + caField(a)
		cfg, plugin, err := ReadManaged([]byte(kubeconfig(cluster, user)))
		if err != nil || plugin != nil {
			t.Fatal(plugin, err)
		}
		if err := visit(t, cfg); err != nil {
			t.Fatal(err)
		}
		if have := [2]string{authorization, subject}; have != want {
			t.Errorf("came as %q, want %q", have, want)
		}
	}
}

// A remote answer may not make this process read a file, speak to a proxy or act
// as another, not even one that would work.
func TestManagedKubeconfigsThatAreRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(testToken), 0o600); err != nil {
		t.Fatal(err)
	}
	const theUser, theCluster = `kubeconfig.users["dev"].user`, `kubeconfig.clusters["aks"].cluster`
	const login = "exec: {apiVersion: client.authentication.k8s.io/v1, command: kubelogin, interactiveMode: Never, args: [x]}"
	ca := caField(authority(t))
	known := goodServer + "\n" + ca
	user := func(text string) string { return kubeconfig(known, text) }
	cluster := func(text string) string { return kubeconfig(text, login) }
	for name, test := range map[string]struct{ data, field, text string }{
		"too much":                {user(login) + strings.Repeat("# x\n", maxManaged/4), "kubeconfig", "is larger than 1048576 bytes"},
		"nothing":                 {"", "kubeconfig", "is empty"},
		"a page":                  {"<html>" + testToken, "kubeconfig", "is not a kubeconfig"},
		"no context":              {strings.Replace(user(login), "current-context: main\n", "", 1), "kubeconfig.current-context", "is not set"},
		"CA file":                 {cluster(goodServer + "\ncertificate-authority: " + file), theCluster + ".certificate-authority", "names a file of this machine"},
		"CA file and CA":          {cluster(goodServer + "\ncertificate-authority-data: eA==\ncertificate-authority: " + file), theCluster + ".certificate-authority", "names a file"},
		"CA":                      {cluster(goodServer + "\ncertificate-authority-data: eA=="), "kubeconfig", "certificates that are not usable"},
		"no CA":                   {cluster(goodServer), theCluster + ".certificate-authority-data", "is missing"},
		"no CA, with a token":     {kubeconfig(goodServer, goodToken), theCluster + ".certificate-authority-data", "is missing"},
		"empty CA":                {cluster(goodServer + "\ncertificate-authority-data: ''"), theCluster + ".certificate-authority-data", "is missing"},
		"another host":            {cluster(known + "\ntls-server-name: evil.example"), theCluster + ".tls-server-name", "another host's certificate"},
		"a name":                  {user("username: u"), theUser + ".username", "by name and password"},
		"a password":              {user("password: " + testPassword), theUser + ".password", "by name and password"},
		"a name and password":     {user("username: u\npassword: " + testPassword), theUser + ".username", "by name and password"},
		"a password and a token":  {user(goodToken + "\npassword: " + testPassword), theUser + ".password", "by name and password"},
		"certificate file":        {user("client-certificate: " + file), theUser + ".client-certificate", "names a file"},
		"key file":                {user(login + "\nclient-key: " + file), theUser + ".client-key", "names a file"},
		"token file":              {user("tokenFile: " + file), theUser + ".tokenFile", "names a file"},
		"token file and plugin":   {user(login + "\ntokenFile: " + file), theUser + ".tokenFile", "names a file"},
		"proxy":                   {cluster(goodServer + "\nproxy-url: http://u:" + testPassword + "@proxy.example"), theCluster + ".proxy-url", "names a proxy"},
		"as":                      {user(goodToken + "\nas: admin"), theUser + ".as", "act as another"},
		"as, by uid":              {user(goodToken + "\nas-uid: a"), theUser + ".as-uid", "act as another"},
		"as, by groups":           {user(login + "\nas-groups: ['']"), theUser + ".as-groups", "act as another"},
		"as, by more":             {user(login + "\nas-user-extra: {a: [b]}"), theUser + ".as-user-extra", "act as another"},
		"http":                    {cluster("server: http://api.example"), theCluster + ".server", "only https"},
		"not verified":            {cluster(goodServer + "\ninsecure-skip-tls-verify: true"), theCluster + ".insecure-skip-tls-verify", "could answer as the API server"},
		"no credential":           {user("{}"), theUser, "has no credential"},
		"plugin and token":        {user(login + "\n" + goodToken), theUser, "not clear which one counts"},
		"plugin and name":         {user(login + "\nusername: u\npassword: " + testPassword), theUser + ".username", "by name and password"},
		"plugin and certificate":  {user(login + "\nclient-certificate-data: eA=="), theUser, "not clear which one counts"},
		"plugin and key":          {user(login + "\nclient-key-data: eA=="), theUser, "not clear which one counts"},
		"two plugins":             {user(login + "\nauth-provider: {name: azure}"), theUser, "not clear which one counts"},
		"the id of a service":     {user(strings.Replace(login, "[x]", "[--server-id=https://vault.example/"+testPassword+"]", 1)), theUser + ".exec.args", "want a GUID"},
		"the old id of a service": {user("auth-provider: {name: azure, config: {apiserver-id: " + testPassword + "}}"), theUser + ".auth-provider.config", "want a GUID"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, plugin, err := ReadManaged([]byte(test.data))
			told, ok := errors.AsType[*ManagedError](err)
			if !ok || failure.CodeOf(err) != "" || cfg != nil || plugin != nil {
				t.Fatalf("got %v, %v, %v", cfg, plugin, err)
			}
			want := test.field + ": " + told.Problem
			if test.field == "kubeconfig" {
				want = "it " + told.Problem
			}
			if told.Field != test.field || !strings.Contains(told.Problem, test.text) || err.Error() != want {
				t.Errorf("got %s, %v; want %s: … %s", told.Field, err, test.field, test.text)
			}
			for _, secret := range []string{testToken, testPassword, file} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%q is in: %v", secret, err)
				}
			}
		})
	}
}

func FuzzReadManaged(f *testing.F) {
	a, err := standin.NewAuthority("kubernetes")
	if err != nil {
		f.Fatal(err)
	}
	known := goodServer + "\n" + caField(a)

	f.Add([]byte(kubeconfig(known, goodToken)))
	f.Add([]byte(kubeconfig(known, "exec: {apiVersion: client.authentication.k8s.io/v1, command: a, interactiveMode: Never, args: [--server-id, b]}")))
	f.Add([]byte(kubeconfig(known, "auth-provider: {name: azure, config: {apiserver-id: 6dae42f8-4368-4678-94ff-3960e28e3630}}")))
	f.Add([]byte(kubeconfig(known+"\ncertificate-authority: /dev/null", "tokenFile: /dev/null")))
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, plugin, err := ReadManaged(data)
		if err != nil {
			if told, ok := errors.AsType[*ManagedError](err); !ok || told.Field == "" || failure.CodeOf(err) != "" {
				t.Errorf("no field: %v", err)
			}
			return
		}
		if !strings.HasPrefix(cfg.Host, "https://") || cfg.Insecure || cfg.ExecProvider != nil || cfg.AuthProvider != nil ||
			cfg.BearerTokenFile != "" || cfg.CAFile != "" || cfg.CertFile != "" || cfg.KeyFile != "" || cfg.Proxy != nil || cfg.Impersonate.UserName != "" ||
			len(cfg.CAData) == 0 || cfg.ServerName != "" || cfg.Username != "" || cfg.Password != "" {
			t.Errorf("taken: %v", cfg)
		}
		if plugin != nil && (cfg.BearerToken != "" || len(cfg.CertData) > 0 || plugin.ServerID() != "" && !guid.MatchString(plugin.ServerID())) {
			t.Errorf("taken with a plugin: %v", cfg)
		}
		if _, err := rest.TransportFor(cfg); err != nil {
			t.Errorf("taken, but not usable: %v", err)
		}
	})
}
