package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

// ca is the cluster's.
func (s *scene) ca() []byte {
	s.t.Helper()
	ca, err := os.ReadFile(s.World.Cluster.CAFile())
	if err != nil {
		s.t.Fatal(err)
	}
	return ca
}

// reconnect writes the kubeconfig anew, after a change of the token.
func (s *scene) reconnect() {
	s.t.Helper()
	if err := s.ConnectTo(s.World.Cluster.Server(), s.ca()); err != nil {
		s.t.Fatal(err)
	}
}

// TestKubeconfigs: what runs here decides what runs in the cluster, so the file
// that says where the cluster is has to be beyond doubt.
func TestKubeconfigs(t *testing.T) {
	t.Parallel()
	const secret = "a-secret-that-stands-in-a-kubeconfig-0123456789"
	exec := map[string]any{"exec": map[string]any{
		"apiVersion": "client.authentication.k8s.io/v1", "command": "kubelogin", "args": []any{"get-token"}, "interactiveMode": "Never",
	}}
	write := func(s *scene, user map[string]any) error {
		return os.WriteFile(s.Inputs["kubeconfig"], harness.Kubeconfig(s.World.Cluster.Server(), s.ca(), user), 0o600)
	}
	for name, c := range map[string]struct {
		change func(s *scene) error
		says   []string
	}{
		"exec plugin": {
			func(s *scene) error { return write(s, exec) },
			[]string{`exec plugin "kubelogin"`, "credential plugins are not run here", "token or a client certificate"},
		},
		"auth provider": {
			func(s *scene) error {
				return write(s, map[string]any{"auth-provider": map[string]any{"name": "azure", "config": map[string]any{"access-token": secret}}})
			},
			[]string{`auth-provider plugin "azure"`},
		},
		"no certificate authority": {
			func(s *scene) error {
				b := harness.Kubeconfig(s.World.Cluster.Server(), s.ca(), map[string]any{"token": secret})
				b = []byte(strings.Replace(string(b), `"certificate-authority-data": `, `"insecure-skip-tls-verify": true, "other": `, 1))
				return os.WriteFile(s.Inputs["kubeconfig"], b, 0o600)
			},
			[]string{"insecure-skip-tls-verify"},
		},
		"torn": {
			func(s *scene) error {
				return os.WriteFile(s.Inputs["kubeconfig"], []byte("users: [{name: me, user: {token: "+secret+"}"), 0o600)
			},
			[]string{"is not a kubeconfig"},
		},
		"readable by others": {
			func(s *scene) error { return os.Chmod(s.Inputs["kubeconfig"], 0o644) },
			[]string{"kubeconfig has mode 0644, must have 0600"},
		},
		"in an open folder": {
			func(s *scene) error { return os.Chmod(s.Dir, 0o755) },
			[]string{"has mode 0755, must have 0700"},
		},
		"behind a symbolic link": {
			func(s *scene) error {
				link := filepath.Join(s.Dir, "kubeconfig-link")
				s.Inputs["kubeconfig"], link = link, s.Inputs["kubeconfig"]
				return os.Symlink(link, s.Inputs["kubeconfig"])
			},
			[]string{"kubeconfig-link is a symbolic link"},
		},
		"with a second link": {
			func(s *scene) error { return os.Link(s.Inputs["kubeconfig"], filepath.Join(s.Dir, "kubeconfig-too")) },
			[]string{"has 2 links, must have 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := set(t, harness.Template{})
			s.secrets = append(s.secrets, secret)
			if err := c.change(s); err != nil {
				t.Fatal(err)
			}
			s.expect(s.run(), want{outcome: "invalid", reason: "config-invalid", says: append(c.says, "kubeconfig")})
			s.expectUntouched()
		})
	}
}

// TestCredentials: each kind of credential works, and nothing of it is seen.
func TestCredentials(t *testing.T) {
	t.Parallel()
	t.Run("content", func(t *testing.T) {
		t.Parallel()
		s := set(t, harness.Template{})
		b, err := os.ReadFile(s.Inputs["kubeconfig"])
		if err != nil {
			t.Fatal(err)
		}
		delete(s.Inputs, "kubeconfig")
		s.Inputs["kubeconfig-content"] = string(b)
		s.expect(s.run(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
	})
	t.Run("context names it", func(t *testing.T) {
		t.Parallel()
		s := set(t, harness.Template{})
		s.Context["kubeconfig"] = s.Inputs["kubeconfig"]
		delete(s.Inputs, "kubeconfig")
		if err := s.WriteContext(); err != nil {
			t.Fatal(err)
		}
		s.expect(s.run(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
	})
	t.Run("token file", func(t *testing.T) {
		t.Parallel()
		s := set(t, harness.Template{})
		path := filepath.Join(s.Dir, "kubeconfig.token")
		if err := os.WriteFile(path, []byte(s.Token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		b := harness.Kubeconfig(s.World.Cluster.Server(), s.ca(), map[string]any{"tokenFile": path})
		if err := os.WriteFile(s.Inputs["kubeconfig"], b, 0o600); err != nil {
			t.Fatal(err)
		}
		s.expect(s.run(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
	})
	t.Run("client certificate", func(t *testing.T) {
		t.Parallel()
		s := set(t, harness.Template{})
		certificate, key, err := clients.Client("ci:"+s.Name, "system:serviceaccounts:"+harness.RunnersNamespace)
		if err != nil {
			t.Fatal(err)
		}
		s.User = "ci:" + s.Name
		s.secrets = append(s.secrets, strings.Split(string(key), "\n")[1:4]...)
		b := harness.Kubeconfig(s.World.Cluster.Server(), s.ca(), map[string]any{"client-certificate-data": certificate, "client-key-data": key})
		if err := os.WriteFile(s.Inputs["kubeconfig"], b, 0o600); err != nil {
			t.Fatal(err)
		}
		s.expect(s.run(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
	})
}
