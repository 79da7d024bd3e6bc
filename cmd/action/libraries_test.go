package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// Whatever libraries are told to log, no server's text gets past the host.
func TestLibrariesDoNotLogPastTheHost(t *testing.T) {
	t.Parallel()
	azure, err := standin.NewAzure(t.TempDir(), "https://127.0.0.1:1", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = azure.Close() })
	azure.Entra.On(standin.Any, -1, func(w http.ResponseWriter, r *http.Request, own http.Handler) {
		w.Header().Set("Server", "##vso[task.setvariable variable=x]y")
		own.ServeHTTP(w, r)
	})
	s := newStep(t, newAPIServer(t, complete))
	delete(s.env, "INPUT_KUBECONFIG")
	for name, value := range azure.Inputs() {
		if name != "tenant-id" && name != "subscription-id" { // they are the context's
			s.env["INPUT_"+strings.ToUpper(name)] = value
		}
	}
	for name, value := range azure.GitHubEnv() {
		s.env[name] = value
	}
	s.env["AZURE_SDK_GO_LOGGING"] = "all"
	s.env["GODEBUG"] = "http2debug=2"
	_, wait := s.start(t)
	e := wait()
	e.expect(t, 3, "outcome", "refused")
	seen := 0
	for line := range strings.Lines(e.log) {
		if strings.HasPrefix(line, "::add-mask::") {
			seen++
			continue
		}
		if found := azure.Ledger.Scan("a line of the log", []byte(line)); len(found) > 0 {
			t.Errorf("%v in: %.60s…", found, line)
		}
		if strings.Contains(line, "##vso[") || strings.Contains(line, "====>") || strings.Contains(line, "http2: ") {
			t.Errorf("a library logs: %.120s", line)
		}
	}
	if seen == 0 {
		t.Errorf("nothing was masked, so nothing was asked\n%s", e.log)
	}
}
