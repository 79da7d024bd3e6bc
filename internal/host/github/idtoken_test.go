package github

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/host/github/runnertest"
)

func TestIDToken(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"/idtoken?api-version=2.0": "GET /idtoken?api-version=2.0&audience=api%3A%2F%2FAzure+AD%26x Bearer " + bearer,
		"/a%2Fb":                   "GET /a%2Fb?audience=api%3A%2F%2FAzure+AD%26x Bearer " + bearer,
		"/?b=%41&a=;":              "GET /?b=%41&a=;&audience=api%3A%2F%2FAzure+AD%26x Bearer " + bearer,
	} {
		s := serve(t, nil)
		h, stdout := s.job(t, query)
		token, err := h.IDToken(t.Context(), "api://Azure AD&x")
		if err != nil {
			t.Fatal(err)
		}
		if len(s.issued) != 1 || token != s.issued[0] {
			t.Errorf("token %q, issued %q", token, s.issued)
		}
		if diff := cmp.Diff([]string{want}, s.asked()); diff != "" {
			t.Errorf("asked (-want +have)\n%s", diff)
		}
		masked := runnertest.Read(stdout.String()).Named("add-mask")
		if diff := cmp.Diff([]string{bearer, token}, masked); diff != "" {
			t.Errorf("masked (-want +have)\n%s", diff)
		}
		if text := h.Hide(token + bearer); text != "***" {
			t.Errorf("hidden: %s", text)
		}
	}
}

// A token is good for one request of the other side's.
func TestEachIDTokenIsAnother(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	h, _ := s.job(t, "/?x=y")
	var all sync.Map
	var each sync.WaitGroup
	for range 10 {
		each.Go(func() {
			token, err := h.IDToken(t.Context(), "a")
			if _, twice := all.LoadOrStore(token, true); twice || err != nil {
				t.Errorf("%q twice, or %v", token, err)
			}
		})
	}
	each.Wait()
}

// The request token is masked before it can be anywhere, whatever comes then.
func TestTheRequestTokenIsMaskedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	var stdout *bytes.Buffer
	s := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		if !strings.Contains(stdout.String(), "::add-mask::"+bearer+"\n") {
			t.Error("it is not masked")
		}
		w.WriteHeader(http.StatusBadRequest)
		return true
	})
	var h *Host
	h, stdout = s.job(t, "/")
	if _, err := h.IDToken(t.Context(), "a"); err == nil {
		t.Error("no error")
	}
}

func TestJobsWithoutIDTokens(t *testing.T) {
	t.Parallel()
	const add = "so the job does not have the permission id-token: write. Add to the job in the workflow: permissions: {id-token: write, contents: read}. " +
		"A reusable workflow needs that from the job that calls it as well. A pull request from a fork does not get id tokens, whatever the workflow says"
	const told = "credential-failed: could not get an id token of this job: "
	const noHTTPS = told + "ACTIONS_ID_TOKEN_REQUEST_URL is not an https URL, and id tokens are only asked for over https. The runner sets it: do not set it in the workflow"
	const service = "https://token.example/?x=y"
	for _, test := range []struct{ url, token, want string }{
		{"", "", told + "ACTIONS_ID_TOKEN_REQUEST_URL is not set, " + add},
		{"", bearer, told + "ACTIONS_ID_TOKEN_REQUEST_URL is not set, " + add},
		{service, "", told + "ACTIONS_ID_TOKEN_REQUEST_TOKEN is not set, " + add},
		{"http://token.example/" + bearer, bearer, noHTTPS},
		{"https://u:" + bearer + "@token.example/", bearer, noHTTPS},
		{"https:///" + bearer, bearer, noHTTPS},
		{"token.example", bearer, noHTTPS},
		{"https://a b/" + bearer, bearer, noHTTPS},
		{service, bearer + "\r\nX: y", told + "ACTIONS_ID_TOKEN_REQUEST_TOKEN holds a character that no token has. The runner sets it: do not set it in the workflow"},
	} {
		h, _ := step(t, map[string]string{requestURL: test.url, requestToken: test.token})
		h.idTokens.client = nil // nothing is sent
		if token, err := h.IDToken(t.Context(), "a"); token != "" || err == nil || err.Error() != test.want {
			t.Errorf("%q, %q: %q, %v, want %s", test.url, test.token, token, err, test.want)
		}
	}
}

// What a service can answer instead of a token, and what it means.
func TestAnswersWithoutAnIDToken(t *testing.T) {
	t.Parallel()
	status := func(code int, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	ok := func(body string) func(http.ResponseWriter) { return status(http.StatusOK, body) }
	tests := map[string]struct {
		answer func(http.ResponseWriter)
		tries  int
		want   []string
	}{
		"400":        {status(400, `{"$id":"1","innerException":null,"message":"Audience is too long.\r\nTell \u001b[31m someone","typeName":"x"}`), 1, []string{` answered HTTP 400 Bad Request: Audience is too long. Tell [31m someone. Check the audience, and that nothing between`}},
		"401":        {status(401, ""), 1, []string{" answered HTTP 401 Unauthorized. What the runner gave this job to ask with (ACTIONS_ID_TOKEN_REQUEST_TOKEN) is not accepted", "run the job again"}},
		"403":        {status(403, "no"), 1, []string{"HTTP 403 Forbidden: no. The job may not have one", "permissions: {id-token: write, contents: read}"}},
		"404":        {status(404, ""), 1, []string{"HTTP 404 Not Found. There is no service for id tokens", "GitHub Enterprise Server"}},
		"a redirect": {func(w http.ResponseWriter) { w.Header().Set("Location", "/x"); w.WriteHeader(http.StatusFound) }, 1, []string{"HTTP 302 Found. A redirect is not followed"}},
		"599":        {status(599, ""), 3, []string{"answered HTTP 599. It was tried 3 times. GitHub's service is not well"}},
		"500":        {status(500, "it is "+bearer+strings.Repeat("x", 1000)), 3, []string{"HTTP 500 Internal Server Error: it is ***x", "xxx…. It was tried 3 times"}},
		"503": {func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
		}, 3, []string{"HTTP 503 Service Unavailable. It was tried 3 times"}},
		"429": {status(429, "slow"), 3, []string{"HTTP 429 Too Many Requests: slow. It was tried 3 times. GitHub limits"}},
		"408": {status(408, ""), 3, []string{"HTTP 408 Request Timeout. It was tried 3 times"}},
		"cut off": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"value":"`)
		}, 3, []string{"It was tried 3 times. Check that this runner's network lets it reach"}},
		"an abort":                {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, 3, []string{"the connection to 127.0.0.1:", " was lost before the answer had come. It was tried 3 times. Check that this runner's network"}},
		"a page that is an error": {status(403, "<!DOCTYPE html><title>No</title>\n<h1>Blocked</h1><p>by the firewall"), 1, []string{"HTTP 403 Forbidden: Blocked by the firewall. The job"}},
		"a page":                  {ok("<html>"), 1, []string{` answered with something which is not JSON of the form {"value": "TOKEN"} (6 bytes, content type "text/html; charset=utf-8"). Check whether a proxy`}},
		"nothing":                 {ok(""), 1, []string{"not JSON"}},
		"two answers":             {ok(`{"value":"a.b.c"}{}`), 1, []string{"not JSON"}},
		"a number":                {ok(`{"value":1}`), 1, []string{"not JSON of the form"}},
		"null":                    {ok(`null`), 1, []string{"which has no value"}},
		"no value":                {ok(`{"token":"x"}`), 1, []string{"which has no value"}},
		"empty value":             {ok(`{"value":""}`), 1, []string{"which has no value"}},
		"not a JWT":               {ok(`{"value":"` + strings.Repeat("eyJ", 20) + `"}`), 1, []string{"whose value is not a JWT"}},
		"two parts":               {ok(`{"value":"YQ.YQ"}`), 1, []string{"not a JWT"}},
		"four parts":              {ok(`{"value":"YQ.YQ.YQ.YQ"}`), 1, []string{"not a JWT"}},
		"unsigned":                {ok(`{"value":"YQ.YQ."}`), 1, []string{"not a JWT"}},
		"padding":                 {ok(`{"value":"YQ==.YQ==.YQ=="}`), 1, []string{"not a JWT"}},
		"a line end":              {ok(`{"value":"YQ.YQ.YQ\n"}`), 1, []string{"not a JWT"}},
		"white space":             {ok(`{"value":" YQ.YQ.YQ"}`), 1, []string{"not a JWT"}},
		"far too much":            {ok(`{"value":"` + strings.Repeat("a", maxIDToken)), 1, []string{"the answer of 127.0.0.1:", " is too large. Check HTTPS_PROXY"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) bool { test.answer(w); return true })
			h, stdout := s.job(t, "/?secret="+bearer)
			token, err := h.IDToken(t.Context(), "a")
			if token != "" || failure.CodeOf(err) != failure.CredentialFailed {
				t.Fatalf("token %q, %v", token, err)
			}
			if n := len(s.asked()); n != test.tries {
				t.Errorf("asked %d times, want %d", n, test.tries)
			}
			for _, want := range append(test.want, "credential-failed: could not get an id token of this job: ") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want … %s", err, want)
				}
			}
			for _, leak := range []string{bearer, "eyJ"} {
				if strings.Contains(err.Error()+strings.ReplaceAll(stdout.String(), "::add-mask::"+bearer, ""), leak) {
					t.Errorf("%s is in: %v\n%s", leak, err, stdout)
				}
			}
			if strings.ContainsAny(err.Error(), "\r\n\x1b") {
				t.Errorf("not one line: %q", err)
			}
		})
	}
}

// What passes is got over, and said.
func TestTroubleThatPasses(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]func(http.ResponseWriter){
		"status": func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) },
		"abort":  func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(n int, w http.ResponseWriter, _ *http.Request) bool {
				if n < 3 {
					trouble(w)
				}
				return n < 3
			})
			h, stdout := s.job(t, "/")
			token, err := h.IDToken(t.Context(), "a")
			if err != nil || len(s.issued) != 1 || token != s.issued[0] {
				t.Fatalf("%q, %v", token, err)
			}
			if n := strings.Count(stdout.String(), "; trying again in "); n != 2 {
				t.Errorf("%d retries are told:\n%s", n, stdout)
			}
		})
	}
}

func FuzzIDTokenAnswer(f *testing.F) {
	for _, body := range []string{"", "{}", `{"value":"YQ.YQ.YQ"}`, `{"value":"a.b.c"}`, `{"value":"YQ.YQ.YQ\n"}`, `[{"value":"YQ.YQ.YQ"}]`} {
		f.Add(http.StatusOK, []byte(body))
		f.Add(http.StatusBadGateway, []byte(body))
	}
	f.Fuzz(func(t *testing.T, code int, body []byte) {
		h, _ := step(t, nil)
		token, err := h.idTokenOf(&http.Response{StatusCode: code, Body: io.NopCloser(bytes.NewReader(body))}, "token.example")
		switch {
		case err == nil && (code != http.StatusOK || strings.Count(token, ".") != 2 || strings.ContainsAny(token, " \t\r\n=+/")):
			t.Errorf("%q is taken from HTTP %d", token, code)
		case err != nil && (token != "" || failure.CodeOf(err) != failure.CredentialFailed || strings.ContainsAny(err.Error(), "\r\n")):
			t.Errorf("token %q, %v", token, err)
		}
	})
}
