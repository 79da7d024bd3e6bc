package azure

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/escape"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// Renewing in a pod reads the file again.
func TestConnectFromAPod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	inPod(w)
	c, err := w.connect()
	w.known(c, err)
	w.asked(map[string]int{"GET entra openid-configuration": 2, "POST entra token": 2, "GET arm orders-aks": 1, "POST arm listClusterUserCredential": 1})
	second, err := w.GitHub.Token(standin.TokenAudience)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.env["AZURE_FEDERATED_TOKEN_FILE"], []byte(second+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.api.On(standin.Any, 1, standin.Status(http.StatusUnauthorized, "{}"))
	if status, answer := visit(t, c, http.MethodGet, ""); status != http.StatusOK {
		t.Errorf("the API server answers %d: %s", status, answer)
	}
	w.known(c, nil)
	ids := map[string]bool{}
	for _, shown := range w.Entra.Assertions() {
		ids[shown.ID] = true
	}
	if len(ids) != 2 {
		t.Errorf("%d id tokens are shown", len(ids))
	}
}

// TestConnectByTheEnvironment is about those ways for which the SDK reads the
// environment of the process. What it could read in place of the inputs is there
// too, and does not count.
func TestConnectByTheEnvironment(t *testing.T) {
	decoys := map[string]string{
		"AZURE_AUTHORITY_HOST": "https://login.missing/", "AZURE_TENANT_ID": "00000000-0000-0000-0000-00000000dead",
		"AZURE_CLIENT_ID": "00000000-0000-0000-0000-00000000dead", "AZURE_CLIENT_SECRET": "never-shown-5678", "AZURE_FEDERATED_TOKEN_FILE": "/nowhere",
		"AZURE_TOKEN_CREDENTIALS": "prod",
	}
	t.Run("github", func(t *testing.T) {
		w := newWorld(t)
		w.env = decoys
		w.setenv()
		w.known(w.connect())
		w.asked(usualRequests())
	})
	t.Run("azure-pipelines", func(t *testing.T) {
		w := newWorld(t)
		onPipelines(w)
		for name, value := range decoys {
			w.env[name] = value
		}
		w.setenv()
		w.known(w.connect())
		w.asked(map[string]int{
			"POST azure-pipelines oidctoken": 2, "GET entra openid-configuration": 2, "POST entra token": 2,
			"GET arm orders-aks": 1, "POST arm listClusterUserCredential": 1,
		})
		if repeated := w.Entra.Repeated(); len(repeated) > 0 {
			t.Errorf("id tokens are shown again: %v", repeated)
		}
	})
	for _, id := range []string{"", standin.ClientID} {
		t.Run("managed-identity "+id, func(t *testing.T) {
			w := newWorld(t)
			w.options.Auth, w.options.IDToken, w.options.TenantID, w.options.ClientID = ManagedIdentity, nil, "", id
			identity := w.Entra.NewIdentity(standin.TenantID, standin.ClientID)
			w.env = map[string]string{"IDENTITY_ENDPOINT": identity.Endpoint, "IDENTITY_HEADER": identity.Header}
			w.setenv()
			// All such credentials of a process share a cache, by audience.
			w.Entra.Change(func(o *standin.EntraOptions) { o.Lifetime = time.Minute })
			w.known(w.connect())
			w.asked(map[string]int{"GET entra token": 2, "GET arm orders-aks": 1, "POST arm listClusterUserCredential": 1})
		})
	}
	t.Run("azure-cli, a guest", func(t *testing.T) {
		w := newWorld(t)
		guest := standin.Person{ObjectID: ada.ObjectID}
		w.ARM.AllowAt(guest.ObjectID, w.ClusterID(), standin.RoleClusterUser...)
		w.env = map[string]string{"PATH": fakeAz(t, atTerminal(w, guest, "/dev/null"))}
		w.setenv()
		c, err := w.connect()
		w.knownAs(guest.ObjectID, c, err)
	})
	t.Run("azure-cli", func(t *testing.T) {
		w := newWorld(t)
		w.ARM.AllowAt(ada.ObjectID, w.ClusterID(), standin.RoleClusterUser...)
		calls := filepath.Join(t.TempDir(), "calls")
		w.env = map[string]string{"PATH": fakeAz(t, atTerminal(w, ada, calls))}
		w.setenv()
		c, err := w.connect()
		w.knownAs(ada.UPN, c, err)
		if told := w.told(); len(told) != 1 || !strings.HasSuffix(told[0], ", as the user "+ada.UPN) {
			t.Errorf("people are told %q", told)
		}
		data, err := os.ReadFile(calls)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Split(strings.TrimSpace(string(data)), "\n")
		slices.Sort(got)
		want := []string{
			"account get-access-token -o json --resource " + standin.AKSServerID + " --subscription " + standin.SubscriptionID,
			"account get-access-token -o json --resource " + w.ARM.URL + " --subscription " + standin.SubscriptionID,
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("az is run as (-want +got):\n%s", diff)
		}
	})
	t.Run("a region", func(t *testing.T) {
		w := newWorld(t)
		w.env = map[string]string{"AZURE_REGIONAL_AUTHORITY_NAME": "westeurope"}
		w.setenv()
		if _, err := w.connect(); err == nil {
			t.Fatal("it connects to a region that is not there")
		}
		if told := w.told(); len(told) == 0 || !strings.HasPrefix(told[0], "AZURE_REGIONAL_AUTHORITY_NAME is set") {
			t.Errorf("people are told %q", told)
		}
	})
}

// atTerminal signs a person in with az, and returns the az: it keeps how it is
// called.
func atTerminal(w *world, p standin.Person, calls string) string {
	w.options.Auth, w.options.IDToken, w.options.ClientID = CLI, nil, ""
	var script strings.Builder
	fmt.Fprintf(&script, "echo \"$*\" >> %s\ncase \"$*\" in\n", escape.Shell(calls))
	script.WriteString("*--tenant*--subscription*) echo ERROR: Please specify only one of subscription and tenant, not both >&2; exit 1;;\n")
	for _, audience := range []string{w.ARM.URL, standin.AKSServerID} {
		fmt.Fprintf(&script, "*--resource\\ %s*) cat <<'END'\n%s\nEND\n;;\n", audience, w.azPrints(audience, p))
	}
	script.WriteString("*) echo ERROR: what is this >&2; exit 2;;\nesac\n")
	return script.String()
}

// ada is who sits at the terminal.
var ada = standin.Person{UPN: "ada@acme.example", ObjectID: "0a1b2c3d-1111-4a5b-8c6d-1e0f9a8b7c43"}

// azPrints is what az account get-access-token prints for a person.
func (w *world) azPrints(audience string, p standin.Person) string {
	w.t.Helper()
	token, made, err := w.Entra.PersonToken(standin.TenantID, audience, p)
	if err != nil {
		w.t.Fatal(err)
	}
	printed, err := json.MarshalIndent(map[string]any{
		"accessToken": token, "expiresOn": made.Expires.Format("2006-01-02 15:04:05.000000"), "expires_on": made.Expires.Unix(),
		"subscription": standin.SubscriptionID, "tenant": standin.TenantID, "tokenType": "Bearer",
	}, "", "  ")
	if err != nil {
		w.t.Fatal(err)
	}
	return string(printed)
}

// setenv makes the environment that of this process.
func (w *world) setenv() {
	w.t.Helper()
	for name, value := range w.env {
		w.t.Setenv(name, value)
	}
}

// fakeAz puts an az into a folder of its own, and returns a PATH with it; without
// a script there is none.
func fakeAz(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	if script != "" {
		if err := os.WriteFile(filepath.Join(dir, "az"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir + ":/bin:/usr/bin"
}
