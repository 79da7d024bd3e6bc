package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asPlugin makes this test's program play a plugin of kubectl.
const asPlugin = "ONESHOT_BENCH_PLUGIN"

func TestMain(m *testing.M) {
	if os.Getenv(asPlugin) == "" {
		os.Exit(m.Run())
	}
	if err := playPlugin(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "plugin:", err)
		os.Exit(1)
	}
}

// plugin returns a program that signs in as kubelogin does. Kubelogin itself takes
// a minute and hundreds of modules to build: that is for those who measure.
func plugin(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "plugin")
	script := fmt.Sprintf("#!/bin/sh\n%s=1 exec %s \"$@\"\n", asPlugin, self)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// playPlugin exchanges an id token for a token of the API server (RFC 7523 section
// 2.2), and prints that for kubectl:
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
func playPlugin(args []string) error {
	flags := flag.NewFlagSet("get-token", flag.ContinueOnError)
	given := map[string]*string{}
	for _, name := range []string{"login", "server-id", "client-id", "tenant-id", "federated-token-file", "authority-host"} {
		given[name] = flags.String(name, "", "")
	}
	flags.Bool("disable-instance-discovery", false, "")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	idToken, err := os.ReadFile(*given["federated-token-file"])
	if err != nil {
		return err
	}
	address := strings.TrimSuffix(*given["authority-host"], "/") + "/" + *given["tenant-id"] + "/oauth2/v2.0/token"
	response, err := http.PostForm(address, url.Values{
		"grant_type": {"client_credentials"}, "client_id": {*given["client-id"]}, "scope": {*given["server-id"] + "/.default"},
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}, "client_assertion": {string(idToken)},
	})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct {
		Token string `json:"access_token"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.Token == "" {
		return fmt.Errorf("Entra answered %s: %w", response.Status, err)
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential", "status": map[string]string{"token": answer.Token},
	})
}
