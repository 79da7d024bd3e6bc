package control

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// The files of a cluster's folder that others read.
const (
	CAFile    = "pki/ca.crt"
	AuditFile = "audit/audit.log"
	LogFolder = "logs"
)

// KubeconfigFile is the kubeconfig of a user below the cluster's folder.
func KubeconfigFile(user string) string {
	return filepath.Join("users", url.PathEscape(user)+".kubeconfig")
}

// auditPolicy records who did what to which object, and when a watch began.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
`

// writeFiles makes everything that the programs read.
func (c *Cluster) writeFiles() error {
	for _, d := range []string{"pki", "users", "audit", LogFolder, "etcd", "tmp", "certs"} {
		if err := os.MkdirAll(c.spec.path(d), 0o700); err != nil {
			return err
		}
	}
	ca, err := newAuthority(c.spec.path("pki"))
	if err != nil {
		return err
	}
	tokens, err := tokenFile(c.spec.Users)
	if err != nil {
		return err
	}
	errs := []error{
		ca.issue("apiserver", "kubernetes", "kubernetes.default", "kubernetes.default.svc"),
		ca.issue("kubelet"),
		ca.issue("kubelet-client"),
		ca.serviceAccountKeys(),
		os.WriteFile(c.spec.path("tokens.csv"), tokens, 0o600),
		os.WriteFile(c.spec.path("audit/policy.yaml"), []byte(auditPolicy), 0o600),
	}
	authority, err := os.ReadFile(c.spec.path(CAFile))
	errs = append(errs, err)
	for _, u := range c.spec.Users {
		errs = append(errs, os.WriteFile(c.spec.path(KubeconfigFile(u.Name)), kubeconfig(c.server(), authority, u), 0o600))
	}
	return errors.Join(errs...)
}

// tokenFile is what --token-auth-file reads: token, name, uid, groups.
func tokenFile(users []User) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	for _, u := range users {
		if u.Name == "" || u.Token == "" {
			return nil, fmt.Errorf("user %q needs a name and a token", u.Name)
		}
		if err := w.Write([]string{u.Token, u.Name, u.Name, strings.Join(u.Groups, ",")}); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// kubeconfig has everything in it, so that it can be copied anywhere.
func kubeconfig(server string, ca []byte, u User) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: test
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: %q
  user:
    token: %q
contexts:
- name: test
  context:
    cluster: test
    user: %q
current-context: test
`, server, base64.StdEncoding.EncodeToString(ca), u.Name, u.Token, u.Name)
}
