package azure

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/host/github"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// A token that the API server does not take any more is replaced.
func TestConnectionReplacesATokenThatIsRejected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, err := w.connect()
	w.known(c, err)
	w.api.On(standin.Any, 1, standin.Status(http.StatusUnauthorized, "{}"))
	if status, answer := visit(t, c, http.MethodGet, ""); status != http.StatusOK {
		t.Errorf("the API server answers %d: %s", status, answer)
	}
	w.known(c, nil)
	if n := w.Entra.IssuedFor()[standin.AKSServerID]; n != 2 {
		t.Errorf("%d tokens are issued", n)
	}
	if repeated := w.Entra.Repeated(); len(repeated) > 0 {
		t.Errorf("id tokens are shown again: %v", repeated)
	}
}

// Tokens are renewed while they are used, as early as Entra wants them to be
// (refresh_in), and the one before serves meanwhile.
func TestConnectionOutlivesItsTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Entra.Change(func(o *standin.EntraOptions) { o.RefreshIn = time.Second })
	c, err := w.connect()
	w.known(c, err)
	for end := time.Now().Add(2 * time.Minute); w.Entra.IssuedFor()[standin.AKSServerID] < 3; time.Sleep(10 * time.Millisecond) {
		if status, answer := visit(t, c, http.MethodGet, ""); status != http.StatusOK {
			t.Fatalf("the API server answers %d: %s", status, answer)
		}
		if time.Now().After(end) {
			t.Fatalf("%d tokens are issued", w.Entra.IssuedFor()[standin.AKSServerID])
		}
	}
	w.known(c, nil)
	if repeated := w.Entra.Repeated(); len(repeated) > 0 {
		t.Errorf("id tokens are shown again: %v", repeated)
	}
}

// While a Job runs, what may pass does not end the run, and what does not pass
// does: by whether the error has a code.
func TestRenewalThatFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		arrange func(*world)
		want    failure.Code
		text    string
	}{
		"Entra is away":       {func(w *world) { w.Entra.On(standin.Any, -1, standin.HTML(http.StatusServiceUnavailable)) }, "", "answered HTTP 503"},
		"Entra hangs up":      {func(w *world) { w.Entra.On(standin.Any, -1, standin.Drop()) }, "", "was lost"},
		"Entra is busy":       {code(90055, "Retry-After", "600"), "", "Run again in 600 s"},
		"Entra refuses":       {code(53003), failure.CredentialFailed, "AADSTS53003"},
		"credential is gone":  {job(func(j *standin.Job) { j.Environment = "other" }), failure.CredentialFailed, "AADSTS700213"},
		"no permission":       {byRunner, failure.CredentialFailed, "id-token: write"},
		"GitHub is away":      {all(byRunner, nobodyThere), "", "could not get an id token"},
		"Entra is not Entra":  {func(w *world) { w.Entra.On(standin.Any, -1, standin.HTML(http.StatusOK)) }, failure.CredentialFailed, "is not one of Entra"},
		"Entra has moved out": {func(w *world) { w.Entra.On(standin.Any, -1, standin.Status(http.StatusNotFound, "")) }, failure.CredentialFailed, "HTTP 404"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c.arrange(w)
			l := newLogin(t.Context(), w.options)
			client := &http.Client{Transport: &bearer{tokens: l.tokensFor(standin.AKSServerID), next: w.Authority.Transport()}}
			defer client.CloseIdleConnections()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.api.URL, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err == nil {
				_ = resp.Body.Close()
				t.Fatalf("the answer is %s", resp.Status)
			}
			if failure.CodeOf(err) != c.want || !strings.Contains(err.Error(), c.text) {
				t.Errorf("it fails with the code %q: %v", failure.CodeOf(err), err)
			}
			w.scan(err)
			if n := len(w.api.Requests()); n != 0 {
				t.Errorf("the API server is sent %d requests", n)
			}
		})
	}
}

// byRunner asks for id tokens as a step of a workflow does.
func byRunner(w *world) { w.options.IDToken = github.New(io.Discard, w.options.Getenv).IDToken }

// nobodyThere has the runner name an address where nobody is.
func nobodyThere(w *world) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	_ = listener.Close()
	w.env["ACTIONS_ID_TOKEN_REQUEST_URL"] = "https://" + listener.Addr().String() + "/idtoken?api-version=2.0"
	w.env["ACTIONS_ID_TOKEN_REQUEST_TOKEN"] = w.GitHub.RequestToken
}
