package azure

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// The name of a user comes with a token that nobody has checked.
func TestConnectRepeatsNoNameThatIsNone(t *testing.T) {
	t.Parallel()
	const evil = "x\x1b[31m ::error::y"
	w := newWorld(t)
	w.Entra.ChangeApp(standin.TenantID, standin.ClientID, func(a *standin.App) { a.ObjectID = evil })
	w.ARM.AllowAt(evil, w.ClusterID(), standin.RoleClusterUser...)
	if _, err := w.connect(); err != nil {
		t.Fatal(err)
	}
	if told := strings.Join(w.told(), "\n"); !strings.HasSuffix(told, "is asked with a token of Entra") {
		t.Errorf("people are told %q", told)
	}
}

// A host writes a line for each secret that it is told.
func TestConnectTellsEachSecretOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	times := map[string]int{}
	w.options.Mask = func(secret string) {
		w.mask(secret)
		w.mu.Lock()
		defer w.mu.Unlock()
		times[secret]++
	}
	c, err := w.connect()
	w.known(c, err)
	w.known(c, nil)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(times) != 4 { // Two id tokens, two tokens of Entra.
		t.Errorf("%d secrets are masked", len(times))
	}
	for secret, n := range times {
		if n != 1 {
			t.Errorf("a secret of %d characters is masked %d times", len(secret), n)
		}
	}
}

// The SDK could register a provider by itself; nobody asked for that.
func TestConnectRegistersNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bothCalls(standin.ARMError(http.StatusConflict, "MissingSubscriptionRegistration", "The subscription is not registered to use namespace 'Microsoft.ContainerService'."))(w)
	if _, err := w.connect(); failure.CodeOf(err) != failure.ClusterUnreachable {
		t.Errorf("it ends with %v", err)
	}
	for _, r := range w.ARM.Requests() {
		if !strings.Contains(r.Path, "/managedClusters/") {
			t.Errorf("%s %s is asked for", r.Method, r.Path)
		}
	}
}

func TestConnectAsAdministratorToThePublicName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asAdmin(w)
	private(false)(w)
	certificate, key, err := w.Authority.Client("masterclient", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	cluster(func(c *standin.Cluster) {
		c.Admin = standin.User{Certificate: certificate, Key: key}
		c.Server, c.PublicServer = "https://from-aks.example:443", "https://public.example:443"
	})(w)
	c, err := w.connect()
	if err != nil {
		t.Fatal(err)
	}
	if c.Config.Host != "https://public.example:443" {
		t.Errorf("it connects to %s", c.Config.Host)
	}
}

// The properties only explain. They are not waited for as long as a request may
// take.
func TestConnectDoesNotWaitForTheProperties(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.options.pace.patience, w.options.pace.retries.TryTimeout, w.options.pace.limit = 50*time.Millisecond, time.Hour, time.Hour
	w.ARM.On(reading, -1, standin.Hang())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.known(w.connect())
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("it still waits")
	}
}

// The token of the job is masked before the SDK has it, whatever becomes of it.
func TestTheJobsTokenIsMaskedFirst(t *testing.T) {
	w := newWorld(t)
	onPipelines(w)
	w.setenv()
	if _, err := newLogin(t.Context(), w.options).newCredential(); err != nil {
		t.Fatal(err)
	}
	if !w.isMasked(w.env["SYSTEM_ACCESSTOKEN"]) {
		t.Error("it is not masked")
	}
}

// A file that holds anything at all may be named.
func TestConnectTakesNoLargeTokenFile(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]string{maxTokenFile: "AADSTS50027", maxTokenFile + 1: "is too large to be a token"} {
		w := newWorld(t)
		inPod(w)
		if err := os.WriteFile(w.env["AZURE_FEDERATED_TOKEN_FILE"], []byte(strings.Repeat("x", size)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := w.connect(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with %d bytes it ends with %v", size, err)
		}
	}
}
