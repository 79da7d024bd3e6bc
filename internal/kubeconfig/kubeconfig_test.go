package kubeconfig

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// kubeconfig is one of two contexts, of which the current one has the given
// fields of its cluster and user.
func kubeconfig(cluster, user string) string {
	indent := func(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") }
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: main
contexts:
- name: main
  context:
    cluster: aks
    user: dev
    namespace: fdai-runtime
- name: other
  context: {cluster: nowhere, user: plugin}
clusters:
- name: aks
  cluster:
    %s
users:
- name: dev
  user:
    %s
- name: plugin
  user:
    exec: {apiVersion: client.authentication.k8s.io/v1, command: kubelogin, interactiveMode: Never}
`, indent(cluster), indent(user))
}

const (
	goodServer = "server: https://api.example:443"
	goodToken  = "token: " + testToken
)

func TestKubeconfigsThatAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	certificate, _, _ := clientCertificate(t)
	certData, keyData, _ := strings.Cut(certificate, "\n")
	user := func(text string) string { return kubeconfig(goodServer, text) }
	cluster := func(text string) string { return kubeconfig(text, goodToken) }
	const theUser, theCluster = `kubeconfig.users["dev"].user`, `kubeconfig.clusters["aks"].cluster`

	tests := map[string]struct{ data, field, text string }{
		"nothing":      {"", "kubeconfig", "empty"},
		"white space":  {" \n\t", "kubeconfig", "empty"},
		"a token":      {testToken, "kubeconfig", "is not a kubeconfig"},
		"broken YAML":  {"apiVersion: v1\nkind: Config\nusers: [{name: x, user: {token: " + testToken + "}\n", "kubeconfig", "(line "},
		"a number":     {user("token: {hidden: " + testToken + "}"), "kubeconfig", "is not a kubeconfig"},
		"other kind":   {"apiVersion: v1\nkind: Secret\ndata: {x: " + testToken + "}", "kubeconfig", "is not a kubeconfig"},
		"other API":    {"apiVersion: v2\nkind: Config\n", "kubeconfig", "is not a kubeconfig"},
		"name twice":   {strings.Replace(user(goodToken), "- name: plugin", "- name: dev", 1), "kubeconfig", "each name once"},
		"no context":   {strings.Replace(user(goodToken), "current-context: main\n", "", 1), "kubeconfig.current-context", "is not set"},
		"lost context": {strings.Replace(user(goodToken), "current-context: main", "current-context: gone", 1), "kubeconfig.current-context", `"gone"`},
		"lost cluster": {strings.Replace(user(goodToken), "cluster: aks", "cluster: gone", 1), `kubeconfig.contexts["main"].context.cluster`, `"gone"`},
		"lost user":    {strings.Replace(user(goodToken), "user: dev", "user: gone", 1), `kubeconfig.contexts["main"].context.user`, `"gone"`},

		"no server":         {cluster("tls-server-name: x"), theCluster + ".server", "is not a URL"},
		"http":              {cluster("server: http://api.example"), theCluster + ".server", "only https is allowed"},
		"no scheme":         {cluster("server: api.example:443"), theCluster + ".server", "https"},
		"user in server":    {cluster("server: https://u:" + testPassword + "@api.example"), theCluster + ".server", "holds more than"},
		"query in server":   {cluster("server: https://api.example/?x=1"), theCluster + ".server", "holds more than"},
		"control in server": {cluster(`server: "https://api\x01.example"`), theCluster + ".server", "is not a URL"},
		"not verified":      {cluster(goodServer + "\ninsecure-skip-tls-verify: true"), theCluster + ".insecure-skip-tls-verify", "could answer as the API server"},
		"proxy":             {cluster(goodServer + "\nproxy-url: ftp://u:" + testPassword + "@proxy"), theCluster + ".proxy-url", "http, https or socks5"},
		"proxy, no URL":     {cluster(goodServer + "\nproxy-url: \"http://u:" + testPassword + "@[\""), theCluster + ".proxy-url", "http, https or socks5"},
		"CA":                {cluster(goodServer + "\ncertificate-authority-data: eA=="), "kubeconfig", "certificates that are not usable"},
		"CA twice":          {cluster(goodServer + "\ncertificate-authority-data: eA==\ncertificate-authority: /ca"), theCluster + ".certificate-authority", "together with certificate-authority-data"},
		"CA relative":       {cluster(goodServer + "\ncertificate-authority: ca.crt"), theCluster + ".certificate-authority", "not an absolute path"},
		"CA missing":        {cluster(goodServer + "\ncertificate-authority: " + filepath.Join(dir, "none")), theCluster + ".certificate-authority", "no such file"},
		"CA a folder":       {cluster(goodServer + "\ncertificate-authority: " + dir), theCluster + ".certificate-authority", "not a regular file"},
		"CA a device":       {cluster(goodServer + "\ncertificate-authority: /dev/zero"), theCluster + ".certificate-authority", "not a regular file"},
		"CA empty":          {cluster(goodServer + "\ncertificate-authority: " + write("empty", "")), theCluster + ".certificate-authority", "is empty"},
		"CA huge":           {cluster(goodServer + "\ncertificate-authority: " + write("huge", strings.Repeat("x", maxFile+1))), theCluster + ".certificate-authority", "larger than"},

		"exec plugin": {user("exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: kubelogin, args: [get-token, --client-secret, " + testPassword + "]}"),
			theUser + ".exec", `exec plugin "kubelogin"; credential plugins are not run here. Use a kubeconfig with a token or a client certificate (AKS: az aks get-credentials --admin), or the action's own OIDC inputs`},
		"exec and a token":           {user(goodToken + "\nexec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Never}"), theUser + ".exec", "not run here"},
		"auth provider":              {user("auth-provider: {name: azure, config: {access-token: " + testToken + "}}"), theUser + ".auth-provider", `auth-provider plugin "azure"`},
		"no credential":              {user("{}"), theUser, "has no credential"},
		"only acting as":             {user("as: admin"), theUser, "has no credential"},
		"acting as nobody":           {user(goodToken + "\nas-groups: [system:masters]"), theUser + ".as", "is empty"},
		"no key":                     {user(certData), theUser, "needs the other too"},
		"no certificate":             {user(keyData), theUser, "needs the other too"},
		"key of another":             {user(certData + "\nclient-key-data: " + base64.StdEncoding.EncodeToString([]byte(testPassword))), "kubeconfig", "certificates that are not usable"},
		"token and name":             {user(goodToken + "\nusername: u\npassword: " + testPassword), theUser, "keep the one"},
		"token's shape":              {user(`token: "` + testToken + `\nX-Remote-User: admin"`), theUser + ".token", "character"},
		"token file":                 {user("tokenFile: token"), theUser + ".tokenFile", "not an absolute path"},
		"blank token file":           {user("tokenFile: " + write("blank", " \n")), theUser + ".tokenFile", "without a token"},
		"a token for its file":       {user("tokenFile: " + testToken), theUser + ".tokenFile", "not an absolute path"},
		"a token like a path":        {user("tokenFile: /" + testToken), theUser + ".tokenFile", "no such file"},
		"a password for its file":    {user(certData + "\nclient-key: /" + testPassword), theUser + ".client-key", "no such file"},
		"a password for the server":  {cluster("server: " + testPassword + ":x"), theCluster + ".server", "URL"},
		"a password before a server": {cluster("server: " + testPassword + "://api.example"), theCluster + ".server", "URL"},
		"key relative":               {user(certData + "\nclient-key: key"), theUser + ".client-key", "not an absolute path"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Read([]byte(test.data))
			if failure.CodeOf(err) != failure.ConfigInvalid {
				t.Fatalf("got %v, want config-invalid", err)
			}
			text := err.Error()
			if !strings.Contains(text, ": "+test.field+": ") || !strings.Contains(text, test.text) {
				t.Errorf("got %v, want %s: … %s", err, test.field, test.text)
			}
			for _, secret := range []string{testToken, testPassword} {
				if strings.Contains(text, secret) {
					t.Errorf("a secret is in: %v", err)
				}
			}
		})
	}
}

// A kubeconfig that is taken leads to the server, as the user it names.
func TestKubeconfigsThatWork(t *testing.T) {
	t.Parallel()
	a := authority(t)
	certificate, certPEM, keyPEM := clientCertificate(t)
	dir := t.TempDir()
	var got http.Header
	var subject string
	s := serve(t, a, func(_ http.ResponseWriter, r *http.Request) {
		got, subject = r.Header, ""
		if len(r.TLS.PeerCertificates) > 0 {
			subject = r.TLS.PeerCertificates[0].Subject.CommonName
		}
	})
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cluster := "server: " + s.URL + "\n" + caField(a)
	tests := []struct {
		name, data                      string
		authorization, subject, imitate string
	}{
		{"token", kubeconfig(cluster, goodToken), "Bearer " + testToken, "", ""},
		{"token file", kubeconfig(cluster, "tokenFile: "+write("token", []byte(testToken+"\n"))), "Bearer " + testToken, "", ""},
		{"certificate", kubeconfig(cluster, certificate), "", "test", ""},
		{"files", kubeconfig("server: "+s.URL+"\ncertificate-authority: "+write("ca", a.PEM),
			"client-certificate: "+write("cert", certPEM)+"\nclient-key: "+write("key", keyPEM)), "", "test", ""},
		{"name and password", kubeconfig(cluster, "username: u\npassword: p"), "Basic dTpw", "", ""},
		{"acting as another", kubeconfig(cluster, goodToken+"\nas: deployer"), "Bearer " + testToken, "", "deployer"},
		{"server name", kubeconfig(cluster+"\ntls-server-name: api.example", goodToken), "Bearer " + testToken, "", ""},
		{"JSON", asJSON(t, s.URL, a.PEM), "Bearer " + testToken, "", ""},
	}
	for _, test := range tests {
		cfg, err := Read([]byte(test.data))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if err := visit(t, cfg); err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if a, i := got.Get("Authorization"), got.Get("Impersonate-User"); a != test.authorization || subject != test.subject || i != test.imitate {
			t.Errorf("%s: came as %q, certificate %q, acting as %q", test.name, a, subject, i)
		}
	}
}

func asJSON(t *testing.T, server string, ca []byte) string {
	t.Helper()
	data, err := contract.Canonical(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "k", "user": "u"}}},
		"clusters": []any{map[string]any{"name": "k", "cluster": map[string]any{"server": server, "certificate-authority-data": base64.StdEncoding.EncodeToString(ca)}}},
		"users":    []any{map[string]any{"name": "u", "user": map[string]any{"token": testToken}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestKubeconfigProxy(t *testing.T) {
	t.Parallel()
	cfg, err := Read([]byte(kubeconfig(goodServer+"\nproxy-url: socks5://proxy.example:1080", goodToken)))
	if err != nil {
		t.Fatal(err)
	}
	if u, err := cfg.Proxy(nil); err != nil || u.String() != "socks5://proxy.example:1080" {
		t.Errorf("proxy %v, %v", u, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(kubeconfig(goodServer, goodToken)))
	f.Add([]byte(`{"apiVersion":"v1","kind":"Config"}`))
	f.Add([]byte("apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a}]\n"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := Read(data)
		if err != nil {
			if failure.CodeOf(err) != failure.ConfigInvalid {
				t.Errorf("code %q: %v", failure.CodeOf(err), err)
			}
			return
		}
		if !strings.HasPrefix(cfg.Host, "https://") || cfg.Insecure || cfg.ExecProvider != nil || cfg.AuthProvider != nil {
			t.Errorf("taken: %v", cfg)
		}
		if _, err := rest.TransportFor(cfg); err != nil {
			t.Errorf("taken, but not usable: %v", err)
		}
	})
}
