package azure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// apiServer takes a token, or none, and keeps what it is sent.
type apiServer struct {
	*httptest.Server

	mu    sync.Mutex
	takes string
	sent  []string
}

func newAPIServer(t *testing.T, takes string) *apiServer {
	t.Helper()
	s := &apiServer{takes: takes}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sent = append(s.sent, fmt.Sprintf("%s %s %d %q", token, r.Method, r.ContentLength, body))
		if token != s.takes {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = io.WriteString(w, "answer to "+token)
	}))
	t.Cleanup(s.Close)
	return s
}

// open counts the bodies that nobody closed.
type open struct {
	next http.RoundTripper
	mu   sync.Mutex
	left int
}

type openBody struct {
	io.ReadCloser
	close func()
}

func (b openBody) Close() error {
	b.close()
	return b.ReadCloser.Close()
}

func (o *open) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.GetBody != nil {
		return nil, errors.New("the transport could repeat the request by itself")
	}
	resp, err := o.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	o.add(1)
	resp.Body = openBody{resp.Body, sync.OnceFunc(func() { o.add(-1) })}
	return resp, nil
}

func (o *open) add(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.left += n
}

// numbered hands out tokens 1, 2, …; after so many, none for a reason.
func numbered(tokensThere int, reason error) *tokens {
	n := 0
	return &tokens{ask: func(context.Context) (azcore.AccessToken, error) {
		if n++; n > tokensThere {
			return azcore.AccessToken{}, reason
		}
		return azcore.AccessToken{Token: strconv.Itoa(n), ExpiresOn: time.Now().Add(time.Hour)}, nil
	}}
}

// send sends through a bearer, and returns status and body.
func send(t *testing.T, s *apiServer, k *tokens, method string, body io.Reader) (int, string, error) {
	t.Helper()
	counted := &open{next: http.DefaultTransport}
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL, body)
	if err != nil {
		t.Fatal(err)
	}
	if body == nil {
		req.GetBody = nil
	}
	resp, err := (&bearer{tokens: k, next: counted}).RoundTrip(req)
	if req.Header.Get("Authorization") != "" {
		t.Error("the request itself was changed")
	}
	if err != nil {
		if counted.left != 0 {
			t.Errorf("%d answers are left open", counted.left)
		}
		return 0, "", err
	}
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if counted.left != 0 {
		t.Errorf("%d answers are left open", counted.left)
	}
	return resp.StatusCode, string(data), nil
}

func TestARequestHasAToken(t *testing.T) {
	t.Parallel()
	s := newAPIServer(t, "1")
	status, answer, err := send(t, s, numbered(1, nil), http.MethodGet, nil)
	if status != http.StatusOK || answer != "answer to 1" || err != nil {
		t.Errorf("the answer is %d %q, %v", status, answer, err)
	}
	if want := []string{`1 GET 0 ""`}; !slices.Equal(s.sent, want) {
		t.Errorf("it is sent %v", s.sent)
	}
}

func TestARejectedTokenIsReplacedAndTheSameIsSentAgain(t *testing.T) {
	t.Parallel()
	s := newAPIServer(t, "2")
	status, answer, err := send(t, s, numbered(2, nil), http.MethodGet, nil)
	if status != http.StatusOK || answer != "answer to 2" || err != nil {
		t.Errorf("the answer is %d %q, %v", status, answer, err)
	}
	if want := []string{`1 GET 0 ""`, `2 GET 0 ""`}; !slices.Equal(s.sent, want) {
		t.Errorf("it is sent %q", s.sent)
	}
}

// A create is sent at once or not at all, and once: after a wait, whoever sends it
// decides anew.
func TestACreateNeitherWaitsNorIsRepeated(t *testing.T) {
	t.Parallel()
	s := newAPIServer(t, "2")
	k := numbered(2, nil)
	create := func() (int, error) {
		status, _, err := send(t, s, k, http.MethodPost, strings.NewReader(`{"kind":"Job"}`))
		return status, err
	}
	noEffect := func(err error) bool {
		waits, ok := errors.AsType[interface {
			error
			Waiting() string
		}](err)
		return ok && waits.Waiting() != "" && failure.CodeOf(err) == ""
	}
	if status, err := create(); status != 0 || !noEffect(err) || len(s.sent) != 0 {
		t.Fatalf("without a token at hand: %d, %v, sent %q", status, err, s.sent)
	}
	if status, err := create(); status != 0 || !noEffect(err) || len(s.sent) != 1 {
		t.Fatalf("with a token that is not taken: %d, %v, sent %q", status, err, s.sent)
	}
	if status, err := create(); status != http.StatusOK || err != nil {
		t.Fatalf("with another token: %d, %v", status, err)
	}
	want := `POST 14 "{\"kind\":\"Job\"}"`
	if !slices.Equal(s.sent, []string{"1 " + want, "2 " + want}) {
		t.Errorf("it is sent %q", s.sent)
	}
}

// A server that takes no token at all is told as that, and no create is held back
// for ever.
func TestACreateWhoseEveryTokenIsRejected(t *testing.T) {
	t.Parallel()
	s := newAPIServer(t, "none")
	k := numbered(9, nil)
	if _, _, err := send(t, s, k, http.MethodGet, nil); err != nil { // It replaces the first.
		t.Fatal(err)
	}
	k.mu.Lock()
	k.replacing.begin = time.Now().Add(-time.Minute) // as after long pauses
	k.mu.Unlock()
	status, answer, err := send(t, s, k, http.MethodPost, strings.NewReader("{}"))
	if status != http.StatusUnauthorized || answer != "answer to 2" || err != nil {
		t.Errorf("the answer is %d %q, %v", status, answer, err)
	}
}

// A machine whose clock is ahead takes each token for one that has ended, and the
// server's clock counts.
func TestACreateWhileTheClockIsAhead(t *testing.T) {
	t.Parallel()
	s := newAPIServer(t, "1")
	k := &tokens{ask: func(context.Context) (azcore.AccessToken, error) {
		return azcore.AccessToken{Token: "1", ExpiresOn: time.Now().Add(-time.Hour)}, nil
	}}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if status, answer, err := send(t, s, k, method, nil); status != http.StatusOK || err != nil {
			t.Errorf("%s is answered %d %q, %v", method, status, answer, err)
		}
	}
}

// A 401 whose body does not end holds nothing up.
func TestABodyWithoutAnEndIsNotReadToIt(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) > 1 {
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, "no")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&bearer{tokens: numbered(2, nil), next: http.DefaultTransport}).RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("the answer is %v, %v", resp, err)
	}
	_ = resp.Body.Close()
}

func TestASecond401Counts(t *testing.T) {
	t.Parallel()
	s := newAPIServer(t, "none")
	k := numbered(9, nil)
	status, answer, err := send(t, s, k, http.MethodGet, nil)
	if status != http.StatusUnauthorized || answer != "answer to 2" || err != nil {
		t.Errorf("the answer is %d %q, %v", status, answer, err)
	}
	if len(s.sent) != 2 {
		t.Errorf("it is sent %v", s.sent)
	}
}

// Where the same token comes again, its 401 is as good as it gets.
func TestTheSameTokenIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := newAPIServer(t, "none")
	k := &tokens{ask: func(context.Context) (azcore.AccessToken, error) {
		return azcore.AccessToken{Token: "same", ExpiresOn: time.Now().Add(time.Hour)}, nil
	}}
	status, answer, err := send(t, s, k, http.MethodGet, nil)
	if status != http.StatusUnauthorized || answer != "answer to same" || err != nil {
		t.Errorf("the answer is %d %q, %v", status, answer, err)
	}
	if len(s.sent) != 1 {
		t.Errorf("it is sent %v", s.sent)
	}
}

// A failure that may pass has no code, so that the run goes on; one that does not
// pass has its code, which ends the run.
func TestATokenThatIsNotToBeHad(t *testing.T) {
	t.Parallel()
	f := failure.New(failure.CredentialFailed, "asking").WithFix("Wait")
	for name, c := range map[string]struct {
		temporary bool
		code      failure.Code
		text      string
	}{
		"for a while": {true, "", "asking. Wait"},
		"for good":    {false, failure.CredentialFailed, "asking. Wait"},
	} {
		for there := range 2 {
			t.Run(fmt.Sprint(name, " after ", there), func(t *testing.T) {
				t.Parallel()
				s := newAPIServer(t, "none")
				_, _, err := send(t, s, numbered(there, &tokenError{failure: f, temporary: c.temporary}), http.MethodGet, nil)
				if err == nil || failure.CodeOf(err) != c.code || err.Error() != c.text {
					t.Errorf("the error is %v with the code %q", err, failure.CodeOf(err))
				}
				if len(s.sent) != there {
					t.Errorf("it is sent %v", s.sent)
				}
			})
		}
	}
}

// A request whose time is up while it waits for its token says so: the server was
// never asked.
func TestARequestThatWaitsForItsTokenSaysSo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(context.Context) (context.Context, context.CancelFunc)
		fail error
		want string
	}{
		"its time is up": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		}, nil, "waiting for a token of Entra: it had not come when the time that a request gets was up"},
		"the run is told to stop": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(ctx, time.Second, errors.New("told to stop"))
		}, nil, "waiting for a token of Entra: told to stop"},
		"for a while": {context.WithCancel, &tokenError{failure: failure.New(failure.CredentialFailed, "asking").WithFix("Wait"), temporary: true}, "asking. Wait"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := &tokens{ask: func(ctx context.Context) (azcore.AccessToken, error) {
					if c.fail != nil {
						return azcore.AccessToken{}, c.fail
					}
					<-ctx.Done()
					return azcore.AccessToken{}, ctx.Err()
				}}
				ctx, cancel := c.end(t.Context())
				defer cancel()
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.example", strings.NewReader("{}"))
				if err != nil {
					t.Fatal(err)
				}
				resp, err := (&bearer{tokens: k, next: http.DefaultTransport}).RoundTrip(req)
				if err == nil {
					_ = resp.Body.Close()
				}
				var waits interface{ Waiting() string }
				if !errors.As(err, &waits) || waits.Waiting() != "waiting for a token of Entra" || err.Error() != c.want || failure.CodeOf(err) != "" {
					t.Errorf("it ends with %v", err)
				}
				time.Sleep(renewal) // What is under way ends.
			})
		})
	}
}
