package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// asked is a request as the server saw it.
type asked struct{ Method, URI, Proto, Accept, ContentType, UserAgent, Authorization, Body string }

func record(into *[]asked, answer http.HandlerFunc) http.Handler {
	var mu sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		h := r.Header
		mu.Lock()
		*into = append(*into, asked{r.Method, r.RequestURI, r.Proto, h.Get("Accept"), h.Get("Content-Type"), h.Get("User-Agent"), h.Get("Authorization"), string(body)})
		mu.Unlock()
		answer(w, r)
	})
}

func TestRequestsAreKubernetesOwn(t *testing.T) {
	t.Parallel()
	manifest := job(0, "")
	manifest["metadata"] = map[string]any{"name": testName, "namespace": testNamespace, "labels": map[string]any{"ä": "<&>"}}
	canonical, err := contract.Canonical(manifest)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]struct {
		call func(context.Context, *Client) (contract.Object, error)
		kind string
		want asked
	}{
		"CronJob": {
			func(ctx context.Context, c *Client) (contract.Object, error) {
				return c.CronJob(ctx, testNamespace, testName)
			},
			"CronJob", asked{Method: "GET", URI: "/apis/batch/v1/namespaces/t1/cronjobs/" + testName},
		},
		"ServiceAccount": {
			func(ctx context.Context, c *Client) (contract.Object, error) {
				return c.ServiceAccount(ctx, testNamespace, testName)
			},
			"ServiceAccount", asked{Method: "GET", URI: "/api/v1/namespaces/t1/serviceaccounts/" + testName},
		},
		"Job": {
			func(ctx context.Context, c *Client) (contract.Object, error) {
				return c.Job(ctx, testNamespace, testName)
			},
			"Job", asked{Method: "GET", URI: "/apis/batch/v1/namespaces/t1/jobs/" + testName},
		},
		"CreateJob": {
			func(ctx context.Context, c *Client) (contract.Object, error) {
				return c.CreateJob(ctx, testNamespace, manifest)
			},
			"Job", asked{
				Method: "POST", URI: "/apis/batch/v1/namespaces/t1/jobs?fieldManager=aks-oneshot&fieldValidation=Strict",
				ContentType: "application/json", Body: string(canonical),
			},
		},
	}
	for name, test := range calls {
		for proto, change := range map[string]func(*httptest.Server){"HTTP/2.0": nil, "HTTP/1.1": http1} {
			t.Run(name+" "+proto, func(t *testing.T) {
				t.Parallel()
				var got []asked
				s := serve(t, record(&got, func(w http.ResponseWriter, _ *http.Request) {
					_, _ = fmt.Fprintf(w, `{"kind":%q,"metadata":{"name":%q,"namespace":"t1"},"number":12345678901234567890.10}`, test.kind, testName)
				}), change)
				object, err := test.call(t.Context(), connect(t, s.config(), WithVersion("v1.2.3")))
				if err != nil {
					t.Fatal(err)
				}
				if n := object["number"]; n != json.Number("12345678901234567890.10") {
					t.Errorf("a number arrived as %v", n)
				}
				want := test.want
				want.Proto, want.Accept, want.UserAgent, want.Authorization = proto, "application/json", "aks-oneshot/v1.2.3", "Bearer "+testToken
				if diff := cmp.Diff([]asked{want}, got); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestServerBehindAPath(t *testing.T) {
	t.Parallel()
	var got []asked
	s := serve(t, record(&got, http.NotFound), nil)
	cfg := s.config()
	cfg.Host += "/k8s/clusters/c-1/"
	_, err := connect(t, cfg).Job(t.Context(), "n", "x")
	wantCallError(t, err, oneshot.Rejected)
	if uri := got[0].URI; uri != "/k8s/clusters/c-1/apis/batch/v1/namespaces/n/jobs/x" {
		t.Errorf("asked %s", uri)
	}
}

func TestNamesThatWouldBeOtherAddressesAreNotSent(t *testing.T) {
	t.Parallel()
	var got []asked
	c := connect(t, serve(t, record(&got, http.NotFound), nil).config())
	for _, name := range []string{"", ".", "..", "a/b", "a%2fb", "../../../../api/v1/secrets"} {
		_, err := c.Job(t.Context(), "n", name)
		wantCallError(t, err, oneshot.Rejected, "cannot be the name of an object")
		_, err = c.Job(t.Context(), name, "x")
		wantCallError(t, err, oneshot.Rejected, "cannot be the name of an object")
	}
	_, err := c.CreateJob(t.Context(), "n", contract.Object{"metadata": map[string]any{}})
	wantCallError(t, err, oneshot.Rejected, "cannot be the name of an object")
	if len(got) != 0 {
		t.Errorf("sent %v", got)
	}
}

// One run against one server: what it asks, and over how many connections.
func TestOneRunTakesFiveRequestsAndOneConnection(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	mux := http.NewServeMux()
	mux.Handle("/apis/batch/v1/namespaces/t1/jobs/", a)
	mux.Handle("/apis/batch/v1/namespaces/t1/jobs", a)
	for path, kind := range map[string]string{"/apis/batch/v1/namespaces/t1/cronjobs/nightly": "CronJob", "/api/v1/namespaces/t1/serviceaccounts/nightly": "ServiceAccount"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(20 * time.Millisecond)
			_, _ = fmt.Fprintf(w, `{"kind":%q,"metadata":{"name":"nightly","namespace":"t1"}}`, kind)
		})
	}
	var requests atomic.Int32
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		mux.ServeHTTP(w, r)
	}), nil)
	c, err := New(s.config())
	if err != nil {
		t.Fatal(err)
	}
	var reads sync.WaitGroup
	for _, read := range []func(context.Context, string, string) (contract.Object, error){c.CronJob, c.ServiceAccount} {
		reads.Go(func() {
			if _, err := read(t.Context(), testNamespace, "nightly"); err != nil {
				t.Error(err)
			}
		})
	}
	reads.Wait()
	if _, err := c.Job(t.Context(), testNamespace, testName); err == nil {
		t.Error("there is a Job already")
	}
	created, err := c.CreateJob(t.Context(), testNamespace, job(0, ""))
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { a.publish(eventModified, job(101, "Complete")) })
	err = c.WatchJob(t.Context(), testNamespace, testName, created, func(job contract.Object) (bool, error) { return !terminal(job), nil })
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if r, n := requests.Load(), s.opened.Load(); r != 5 || n != 1 {
		t.Errorf("%d requests over %d connections, want 5 over 1", r, n)
	}
}

// Promise: at most one create is sent, whatever the connection does.
func TestCreateIsNeverSentTwice(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*httptest.Server){"HTTP/2": nil, "HTTP/1.1": http1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var creates atomic.Int32
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					answerStatus(w, http.StatusNotFound, "NotFound", "not found")
					return
				}
				creates.Add(1)
				_, _ = io.Copy(io.Discard, r.Body)
				panic(http.ErrAbortHandler)
			}), change)
			c := connect(t, s.config())
			// The connection is one that was used before.
			if _, err := c.Job(t.Context(), testNamespace, testName); err == nil {
				t.Fatal("there is a Job already")
			}
			_, err := c.CreateJob(t.Context(), testNamespace, job(0, ""))
			wantCallError(t, err, oneshot.Unavailable, "could not create jobs.batch "+testName+" in namespace t1")
			if n := creates.Load(); n != 1 {
				t.Errorf("%d creates were sent", n)
			}
		})
	}
}

func TestAnswersThatAreNoAnswers(t *testing.T) {
	t.Parallel()
	whole := fmt.Sprintf(`{"kind":"Job","metadata":{"name":%q,"namespace":"t1"}}`, testName)
	tests := map[string]struct {
		answer http.HandlerFunc
		text   string
	}{
		"cut off in the body": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, whole)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, "the answer was cut off"},
		"half an object": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, whole[:len(whole)-3]) }, "cannot be read"},
		"nothing":        {func(http.ResponseWriter, *http.Request) {}, "cannot be read"},
		"a page": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<!DOCTYPE html><html><head><style>b{}</style></head><body>Please\x1b[31m <b>sign in</b></body></html>")
		}, "not that of a Kubernetes API server: Please [31m sign in"},
		"too large": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"kind":"`+strings.Repeat("x", 9<<20))
		}, "larger than"},
		"another namespace": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"kind":"Job","metadata":{"name":%q,"namespace":"t2"}}`, testName)
		}, "not the object that was asked for"},
		"another kind": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"kind":"JobList","metadata":{"name":%q,"namespace":"t1"}}`, testName)
		}, "not the object that was asked for"},
		"another object": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"kind":"Job","metadata":{"name":"y","namespace":"t1"}}`)
		}, "not the object that was asked for"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t, serve(t, test.answer, nil).config())
			_, err := c.Job(t.Context(), testNamespace, testName)
			wantCallError(t, err, oneshot.Unavailable, test.text)
			// After a create the answer may be gone, and the Job there.
			_, err = c.CreateJob(t.Context(), testNamespace, job(0, ""))
			wantCallError(t, err, oneshot.Unavailable, test.text, "create")
		})
	}
}

func TestServerThatDoesNotAnswerInTime(t *testing.T) {
	t.Parallel()
	tests := map[string]http.HandlerFunc{
		"no header": hang,
		"half a body": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"kind":`)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
	}
	for name, answer := range tests {
		for proto, change := range map[string]func(*httptest.Server){"HTTP/2": nil, "HTTP/1.1": http1} {
			t.Run(name+" "+proto, func(t *testing.T) {
				t.Parallel()
				c := connect(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPost {
						answer(w, r)
					}
				}), change).config())
				_, err := c.Job(t.Context(), testNamespace, testName) // there is a connection
				wantCallError(t, err, oneshot.Unavailable)
				c.times.request = 100 * time.Millisecond
				_, err = c.CreateJob(t.Context(), testNamespace, job(0, ""))
				wantCallError(t, err, oneshot.TimedOut, "no answer in the time that a request gets")
			})
		}
	}
}

func TestCallerWhoStopsGetsTheCause(t *testing.T) {
	t.Parallel()
	c := connect(t, serve(t, http.HandlerFunc(hang), nil).config())
	want := errors.New("the runner asked to stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(want) })
	_, err := c.CreateJob(ctx, testNamespace, job(0, ""))
	var call *oneshot.CallError
	if !errors.Is(err, want) || errors.As(err, &call) {
		t.Errorf("got %v, want the cause", err)
	}
}

func TestWarningsAreToldOnce(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Warning", `299 - "would violate PodSecurity \"restricted:latest\": runAsNonRoot != true"`)
		w.Header().Add("Warning", `199 - "not the API server's"`)
		w.Header().Add("Warning", "nonsense")
		_, _ = fmt.Fprintf(w, `{"kind":"Job","metadata":{"name":%q,"namespace":"t1"}}`, testName)
	}), nil)
	var told []string
	c := connect(t, s.config(), WithNotify(func(text string) { told = append(told, text) }))
	for range 3 {
		if _, err := c.CreateJob(t.Context(), testNamespace, job(0, "")); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{`warning from the API server: would violate PodSecurity "restricted:latest": runAsNonRoot != true`}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	var got []asked
	s := serve(t, record(&got, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://login.example/?token="+testToken, http.StatusTemporaryRedirect)
	}), nil)
	_, err := connect(t, s.config()).CreateJob(t.Context(), testNamespace, job(0, ""))
	wantCallError(t, err, oneshot.Rejected, "a redirect to login.example", "HTTP 307")
	if len(got) != 1 {
		t.Errorf("%d requests", len(got))
	}
}
