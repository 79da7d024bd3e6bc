package azure

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/host/github"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// kubeconfigAnswer is an answer of Azure Resource Manager with a kubeconfig.
func kubeconfigAnswer(kubeconfig string) string {
	body, err := json.Marshal(map[string]any{"kubeconfigs": []any{map[string]any{"name": "clusterUser", "value": base64.StdEncoding.EncodeToString([]byte(kubeconfig))}}})
	if err != nil {
		panic(err)
	}
	return string(body)
}

func onPipelines(w *world) {
	w.env = w.PipelinesEnv()
	w.options.Auth, w.options.IDToken, w.options.ServiceConnection = Pipelines, nil, w.Pipelines.Connection().ID
}

func without(name string) func(*world) {
	return func(w *world) { delete(w.env, name) }
}

// pipelinesFailures are those of Azure Pipelines that need no environment of the
// process.
var pipelinesFailures = []failing{
	{"pipelines-no-access-token", all(onPipelines, without("SYSTEM_ACCESSTOKEN"))},
	{"pipelines-wrong-variable", all(onPipelines, func(w *world) { w.env["SYSTEM_ACCESSTOKEN"] = "$(System.Accesstokens)" })},
	{"pipelines-no-address", all(onPipelines, without("SYSTEM_OIDCREQUESTURI"))},
}

// inPod has the files and variables of a pod with workload identity.
func inPod(w *world) {
	w.options.Auth, w.options.IDToken = WorkloadIdentity, nil
	token, err := w.GitHub.Token(standin.TokenAudience)
	if err != nil {
		w.t.Fatal(err)
	}
	file := filepath.Join(w.t.TempDir(), "azure-identity-token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.env = map[string]string{"AZURE_FEDERATED_TOKEN_FILE": file, "AZURE_TENANT_ID": standin.TenantID, "AZURE_CLIENT_ID": standin.ClientID}
}

// machineFailures are those of what is asked in place of a CI system.
var machineFailures = []failing{
	{"github-no-permission", func(w *world) { w.options.IDToken = github.New(io.Discard, func(string) string { return "" }).IDToken }},
	// The first id token is there, and spent in vain; the next one is waited for.
	{"github-hanging-to-the-limit", func(w *world) {
		w.options.Admin = true
		w.options.IDToken = func(ctx context.Context, audience string) (string, error) {
			token, err := w.idToken(ctx, audience)
			if ctx.Err() != nil {
				err = fmt.Errorf("could not get an id token of this job: %w", context.Cause(ctx))
			}
			return token, err
		}
		w.GitHub.On(standin.Any, 1, standin.Slow(0))
		w.GitHub.On(standin.Any, -1, w.hangingToTheLimit())
		w.Entra.On(tokenRequest, 1, standin.HTML(http.StatusServiceUnavailable))
	}},
	{"github-elsewhere", func(w *world) { w.options.IDToken = nil }},
	{"unknown-auth", func(w *world) { w.options.Auth = "password" }},
	{"pod-no-token-file-variable", all(inPod, without("AZURE_FEDERATED_TOKEN_FILE"))},
	{"pod-token-file-missing", all(inPod, func(w *world) { w.env["AZURE_FEDERATED_TOKEN_FILE"] = "/nowhere/azure-identity-token" })},
	{"pod-token-file-empty", all(inPod, func(w *world) {
		if err := os.WriteFile(w.env["AZURE_FEDERATED_TOKEN_FILE"], nil, 0o600); err != nil {
			w.t.Fatal(err)
		}
	})},
	{"pod-token-file-folder", all(inPod, func(w *world) { w.env["AZURE_FEDERATED_TOKEN_FILE"] = w.t.TempDir() })},
	{"pod-token-file-rubbish", all(inPod, func(w *world) {
		if err := os.WriteFile(w.env["AZURE_FEDERATED_TOKEN_FILE"], []byte("no token"), 0o600); err != nil {
			w.t.Fatal(err)
		}
	})},
	{"pod-700213", all(func(w *world) {
		w.GitHub.Change(func(j *standin.Job) { j.Subject = "system:serviceaccount:runners:default" })
	}, inPod)},
	{"pod-700024", all(job(func(j *standin.Job) { j.Shift = -3600e9 }), inPod)},
}

// processFailures are those that need the environment of this process, which the
// SDK reads, so that their tests are not parallel.
var processFailures = map[string]bool{
	"pipelines-401": true, "pipelines-404": true, "pipelines-503": true, "pipelines-200-empty": true, "pipelines-200-html": true,
	"pipelines-200-unnamed": true, "pipelines-404-unnamed": true,
	"pipelines-unreachable": true, "pipelines-700213": true, "pipelines-700213-entra-issuer": true,
	"machine-no-identity": true, "machine-other-client": true, "machine-500": true, "machine-200-html": true, "machine-unreachable": true,
	"az-missing": true, "az-missing-in-a-workflow": true, "az-logged-out": true, "az-rubbish": true, "az-other-tenant": true, "az-403": true, "az-hanging": true, "az-silent": true, "az-no-token": true,
}

// unnamedConnection is what Azure Pipelines says to a job that does not name the
// service connection.
const unnamedConnection = `{"count":151,"value":"There is no explicit reference to service connection 00000000-0000-0000-0000-00000000dead from current stage Deploy.sync.__default."}`

// TestFailuresOfTheProcess is TestFailures for those.
func TestFailuresOfTheProcess(t *testing.T) {
	idToken := standin.PathEnds("/oidctoken")
	answering := func(a standin.Answer) func(*world) {
		return func(w *world) { w.Pipelines.On(idToken, -1, a) }
	}
	identity := standin.PathEnds("/msi/token")
	onMachine := func(w *world) {
		w.options.Auth, w.options.IDToken = ManagedIdentity, nil
		id := w.Entra.NewIdentity(standin.TenantID, standin.ClientID)
		w.env = map[string]string{"IDENTITY_ENDPOINT": id.Endpoint, "IDENTITY_HEADER": id.Header}
	}
	byAz := func(script string) func(*world) {
		return func(w *world) {
			w.options.Auth, w.options.IDToken = CLI, nil
			w.env = map[string]string{"PATH": fakeAz(w.t, script)}
		}
	}
	for _, f := range []failing{
		{"pipelines-401", all(onPipelines, func(w *world) { w.env["SYSTEM_ACCESSTOKEN"] = "not-the-token-of-this-job" })},
		{"pipelines-404", all(onPipelines, func(w *world) { w.options.ServiceConnection = "00000000-0000-0000-0000-00000000dead" })},
		{"pipelines-503", all(onPipelines, answering(standin.HTML(http.StatusServiceUnavailable)))},
		{"pipelines-200-empty", all(onPipelines, answering(standin.Empty()))},
		{"pipelines-200-html", all(onPipelines, answering(standin.HTML(http.StatusOK)))},
		{"pipelines-200-unnamed", all(onPipelines, answering(standin.Status(http.StatusOK, unnamedConnection)))},
		{"pipelines-404-unnamed", all(onPipelines, answering(standin.Status(http.StatusNotFound, unnamedConnection)))},
		{"pipelines-unreachable", all(onPipelines, func(w *world) { w.env["SYSTEM_OIDCREQUESTURI"] = "https://pipelines.missing/oidctoken" })},
		{"pipelines-700213", all(onPipelines, func(w *world) { w.Pipelines.Change(func(c *standin.Connection) { c.Name = "aks-staging" }) })},
		{"pipelines-700213-entra-issuer", all(onPipelines, func(w *world) {
			w.Pipelines.Change(func(c *standin.Connection) { c.EntraTenant = standin.TenantID })
		})},
		{"machine-no-identity", all(onMachine, func(w *world) {
			w.options.ClientID = ""
			w.Entra.On(identity, -1, standin.Status(http.StatusBadRequest, `{"error":"invalid_request","error_description":"Identity not found"}`, "Content-Type", "application/json"))
		})},
		{"machine-other-client", all(onMachine, func(w *world) { w.options.ClientID = "00000000-0000-0000-0000-00000000dead" })},
		{"machine-500", all(onMachine, func(w *world) { w.Entra.On(identity, -1, standin.HTML(http.StatusInternalServerError)) })},
		{"machine-200-html", all(onMachine, func(w *world) { w.Entra.On(identity, -1, standin.HTML(http.StatusOK)) })},
		{"machine-unreachable", all(onMachine, func(w *world) { w.env["IDENTITY_ENDPOINT"] = "http://127.0.0.1:1/msi/token" })},
		{"az-missing", byAz("")},
		{"az-missing-in-a-workflow", all(byAz(""), func(w *world) { w.options.IDToken = w.idToken })},
		{"az-logged-out", byAz("echo 'ERROR: Please run '\"'az login'\"' to setup account.' >&2\nexit 1\n")},
		{"az-hanging", func(w *world) {
			w.options.pace.az = 500 * time.Millisecond
			byAz("exec sleep 20\n")(w)
		}},
		{"az-silent", byAz("exit 3\n")},
		{"az-no-token", byAz("echo '{\"accessToken\":\"\",\"expires_on\":9999999999}'\n")},
		{"az-other-tenant", func(w *world) {
			w.options.TenantID = "00000000-0000-0000-0000-0000000000aa"
			byAz("cat <<'END'\n" + w.azPrints(w.ARM.URL, ada) + "\nEND\n")(w)
		}},
		{"az-403", func(w *world) { w.env = map[string]string{"PATH": fakeAz(w.t, atTerminal(w, ada, "/dev/null"))} }},
		{"az-rubbish", byAz("echo 'WARNING: hello'\n")},
	} {
		if !processFailures[f.name] {
			t.Errorf("%s is not listed", f.name)
		}
		t.Run(f.name, func(t *testing.T) {
			w := newWorld(t)
			f.arrange(w)
			w.setenv()
			c, err := w.connect()
			if err == nil {
				t.Fatalf("it connects: %+v", c)
			}
			w.scan(err)
			golden(t, f.name, w.transcript(err))
		})
	}
}
