package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/test/cluster"
	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// kubeloginPackage is built from the module in the folder kubelogin.
const kubeloginPackage = "github.com/Azure/kubelogin"

// buildKubelogin builds kubelogin into the cache of the test cluster, once for
// each version of its module, and returns the program and its version.
func buildKubelogin(ctx context.Context) (path, version string, err error) {
	root, err := harness.Root(ctx)
	if err != nil {
		return "", "", err
	}
	module := filepath.Join(root, "test", "e2e", "kubelogin")
	out, err := exec.CommandContext(ctx, "go", "-C", module, "list", "-m", "-f", "{{.Version}}", kubeloginPackage).Output()
	if err != nil {
		return "", "", fmt.Errorf("could not find %s: %w", kubeloginPackage, err)
	}
	version = strings.TrimSpace(string(out))
	folder, err := cacheFolder()
	if err != nil {
		return "", "", err
	}
	path = filepath.Join(folder, "kubelogin-"+version)
	if _, err := os.Stat(path); err == nil {
		return path, version, nil
	}
	temp := fmt.Sprintf("%s.%d", path, os.Getpid())
	defer os.Remove(temp) // What is left of a build that failed.
	build := exec.CommandContext(ctx, "go", "-C", module, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", temp, kubeloginPackage)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("could not build kubelogin: %w\n%s", err, out)
	}
	return path, version, os.Rename(temp, path)
}

// cacheFolder is where the test cluster keeps what is built once.
func cacheFolder() (string, error) {
	folder := os.Getenv(cluster.CacheEnv)
	if folder == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		folder = filepath.Join(user, "aks-oneshot")
	}
	return folder, os.MkdirAll(folder, 0o755)
}

// login is kubectl with kubelogin, as a script has it that was given a kubeconfig
// and an id token in a file.
type login struct {
	*kubectl
	azure    *harness.Azure
	template string
	// home is new for each run, as it is in each job: no token is left there from
	// the one before. What kubectl knows of the API server is left.
	home, token string
}

func (b *bench) newLogin(azure *harness.Azure, template string, proxy *harness.Proxy) (*login, error) {
	folder := filepath.Join(b.stage.World.Dir, "kubelogin")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	l := &login{azure: azure, template: template, home: filepath.Join(folder, "home"), token: filepath.Join(folder, "token")}
	user := map[string]any{"exec": map[string]any{
		"apiVersion": "client.authentication.k8s.io/v1beta1", "command": b.kubeloginPath, "interactiveMode": "Never",
		"args": []any{
			"get-token", "--login", "workloadidentity", "--server-id", standin.AKSServerID, "--client-id", standin.ClientID,
			"--tenant-id", harness.TenantID, "--federated-token-file", l.token, "--authority-host", azure.Entra.AuthorityHost(),
			"--disable-instance-discovery",
		},
	}}
	config := filepath.Join(folder, "kubeconfig")
	if err := os.WriteFile(config, harness.Kubeconfig(proxy.URL, proxy.CA, user), 0o600); err != nil {
		return nil, err
	}
	l.kubectl = &kubectl{path: b.kubectlPath, env: []string{
		"PATH=/usr/bin:/bin", "HOME=" + l.home, "KUBECONFIG=" + config, "KUBECACHEDIR=" + filepath.Join(folder, "cache"),
		"SSL_CERT_FILE=" + azure.CAFile,
	}}
	return l, nil
}

// run reads the CronJob, with an id token that is there already.
func (l *login) run(ctx context.Context) error {
	if err := os.RemoveAll(l.home); err != nil {
		return err
	}
	token, err := l.azure.GitHub.Token(standin.TokenAudience)
	if err != nil {
		return err
	}
	if err := os.WriteFile(l.token, []byte(token), 0o600); err != nil {
		return err
	}
	_, err = l.kubectl.run(ctx, "get", "cronjob/"+l.template, "-o", "json")
	return err
}
