package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

const testConfigMap = "aks-oneshot-x"

func configMap() contract.Object {
	return contract.Object{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": testConfigMap, "namespace": testNamespace, "uid": "uid-1", "resourceVersion": "7"},
		"data":     map[string]any{"terminal.json": "{\"ä\":\"<&>\"}\n"},
	}
}

// configMapCalls has each call, which shows what it returns.
var configMapCalls = map[string]func(context.Context, *Client) (any, error){
	"get": func(ctx context.Context, c *Client) (any, error) {
		return c.ConfigMap(ctx, testNamespace, testConfigMap)
	},
	"list": func(ctx context.Context, c *Client) (any, error) {
		page, next, err := c.ConfigMaps(ctx, testNamespace, "a=b,c=d", "")
		return fmt.Sprint(page, " ", next), err
	},
	"create": func(ctx context.Context, c *Client) (any, error) {
		return c.CreateConfigMap(ctx, testNamespace, configMap())
	},
	"update": func(ctx context.Context, c *Client) (any, error) {
		return c.UpdateConfigMap(ctx, testNamespace, configMap())
	},
	"delete": func(ctx context.Context, c *Client) (any, error) {
		return nil, c.DeleteConfigMap(ctx, testNamespace, testConfigMap, "uid-1", "7")
	},
}

func TestRequestsForConfigMaps(t *testing.T) {
	t.Parallel()
	object, err := contract.Canonical(configMap())
	if err != nil {
		t.Fatal(err)
	}
	const all = "/api/v1/namespaces/t1/configmaps"
	const metadataFirst = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json"
	for verb, test := range map[string]struct {
		want   asked
		answer string
		result any
	}{
		"get": {asked{Method: "GET", URI: all + "/aks-oneshot-x", Accept: "application/json"}, string(object), configMap()},
		"list": {
			asked{Method: "GET", URI: all + "?labelSelector=a%3Db%2Cc%3Dd&limit=500", Accept: metadataFirst},
			`{"kind":"PartialObjectMetadataList","metadata":{"continue":"on"},"items":[{"metadata":{"name":"x"}}]}`, "[map[metadata:map[name:x]]] on",
		},
		"create": {
			asked{Method: "POST", URI: all + "?fieldManager=aks-oneshot&fieldValidation=Strict", Accept: "application/json", ContentType: "application/json", Body: string(object)},
			string(object), configMap(),
		},
		"update": {
			asked{Method: "PUT", URI: all + "/aks-oneshot-x?fieldManager=aks-oneshot&fieldValidation=Strict", Accept: "application/json", ContentType: "application/json", Body: string(object)},
			string(object), configMap(),
		},
		"delete": {
			asked{
				Method: "DELETE", URI: all + "/aks-oneshot-x", Accept: "application/json", ContentType: "application/json",
				Body: `{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"resourceVersion":"7","uid":"uid-1"}}`,
			},
			`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"aks-oneshot-x","kind":"configmaps","uid":"uid-1"}}`, nil,
		},
	} {
		for proto, change := range map[string]func(*httptest.Server){"HTTP/2.0": nil, "HTTP/1.1": http1} {
			t.Run(verb+" "+proto, func(t *testing.T) {
				t.Parallel()
				var got []asked
				s := serve(t, record(&got, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(test.answer)) }), change)
				result, err := configMapCalls[verb](t.Context(), connect(t, s.config(), WithVersion("v1.2.3")))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.result, result); diff != "" {
					t.Errorf("the result (-want +have)\n%s", diff)
				}
				want := test.want
				want.Proto, want.UserAgent, want.Authorization = proto, "aks-oneshot/v1.2.3", "Bearer "+testToken
				if diff := cmp.Diff([]asked{want}, got); diff != "" {
					t.Errorf("requests (-want +have)\n%s", diff)
				}
			})
		}
	}
}

// A list comes page by page, of which each is a request of the caller's.
func TestPagesOfConfigMaps(t *testing.T) {
	t.Parallel()
	pages := map[string]string{
		"":   `{"kind":"PartialObjectMetadataList","metadata":{"continue":"c1"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`,
		"c1": `{"kind":"ConfigMapList","metadata":{"continue":"c/2+"},"items":[]}`,
		// Where there is nothing, some servers say null.
		"c/2+": `{"kind":"ConfigMapList","metadata":{},"items":null}`,
	}
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(pages[r.URL.Query().Get("continue")]))
	}), nil)
	c := connect(t, s.config())
	var names, tokens []string
	for from, first := "", true; first || from != ""; first = false {
		page, next, err := c.ConfigMaps(t.Context(), testNamespace, "a=b", from)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range page {
			names = append(names, object["metadata"].(map[string]any)["name"].(string))
		}
		tokens = append(tokens, next)
		from = next
	}
	if diff := cmp.Diff([][]string{{"a", "b"}, {"c1", "c/2+", ""}}, [][]string{names, tokens}); diff != "" {
		t.Errorf("(-want +have)\n%s", diff)
	}
}

func TestAnswersThatAreNoAnswerToAConfigMapCall(t *testing.T) {
	t.Parallel()
	other := strings.Replace(`{"kind":"ConfigMap","metadata":{"name":"NAME","namespace":"t1"}}`, "NAME", "other", 1)
	for verb, answers := range map[string][]string{
		"get":    {other, `{"kind":"Secret","metadata":{"name":"aks-oneshot-x","namespace":"t1"}}`, `{}`, `[]`, `<html>`},
		"create": {other, `{"kind":"Status","status":"Success"}`, ``},
		"update": {other, `{"kind":"Status","status":"Success"}`, ``},
		"list":   {other, `{"kind":"SecretList","items":[]}`, `{"kind":"ConfigMapList","items":{}}`, `{"kind":"ConfigMapList","items":["x"]}`, `{"kind":"PartialObjectMetadataList","items":7}`},
		"delete": {other, `{"kind":"Status","status":"Failure"}`, `{}`},
	} {
		for _, answer := range answers {
			t.Run(verb+" "+answer, func(t *testing.T) {
				t.Parallel()
				s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) }), nil)
				_, err := configMapCalls[verb](t.Context(), connect(t, s.config()))
				wantCallError(t, err, oneshot.Unavailable, "could not "+verb+" configmaps")
			})
		}
	}
}

// An object that finalizers keep is what a delete is answered with.
func TestDeleteThatHasToWait(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"kind":"ConfigMap","metadata":{"name":"aks-oneshot-x","namespace":"t1","finalizers":["a/b"]}}`))
	}), nil)
	if _, err := configMapCalls["delete"](t.Context(), connect(t, s.config())); err != nil {
		t.Error(err)
	}
}

// The files are answers of Kubernetes 1.37.
func TestWhatAnswersOnConfigMapsMean(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		file, verb string
		code       int
		kind       oneshot.Kind
		text       string
	}{
		{"configmap-exists", "create", 409, oneshot.AlreadyExists, `configmaps "x" already exists`},
		{"configmap-update-stale", "update", 409, oneshot.Conflict, "the object has been modified"},
		{"configmap-update-other", "update", 409, oneshot.Conflict, "UID in precondition"},
		{"configmap-delete-stale", "delete", 409, oneshot.Conflict, "does not match the ResourceVersion"},
		{"configmap-absent", "update", 404, oneshot.NotFound, `configmaps "x" not found`},
		{"configmap-absent", "delete", 404, oneshot.NotFound, `configmaps "x" not found`},
		{"unknown", "list", 404, oneshot.Rejected, "could not find the requested resource"},
		{"configmap-denied-update", "update", 403, oneshot.Denied, `cannot update resource "configmaps"`},
		{"configmap-denied-delete", "delete", 403, oneshot.Denied, `cannot delete resource "configmaps"`},
		{"configmap-denied-list", "list", 403, oneshot.Denied, `cannot list resource "configmaps"`},
		{"configmap-invalid", "update", 422, oneshot.Rejected, "a valid config key must consist of"},
		// A policy that refuses an update is none of who may do what.
		{"quota", "update", 403, oneshot.Rejected, "exceeded quota"},
		{"terminating", "delete", 403, oneshot.Rejected, "is being terminated"},
		{"unauthorized", "delete", 401, oneshot.Denied, "Unauthorized"},
	} {
		c := call{verb: test.verb, resource: configMaps, namespace: "n", name: "x"}
		if test.verb == "list" {
			c.name = ""
		}
		err := new(Client).statusError(c, test.code, http.Header{}, testdata(t, "status/"+test.file+".json"))
		wantCallError(t, err, test.kind, test.text, "could not "+test.verb+" configmaps", "in namespace n")
		if err.Temporary() != (test.kind == oneshot.Throttled) {
			t.Errorf("%s %s is temporary: %t", test.verb, test.file, err.Temporary())
		}
	}
	// The body says nothing where it is not the API server's.
	for verb, kind := range map[string]oneshot.Kind{"get": oneshot.Denied, "list": oneshot.Denied, "update": oneshot.Rejected, "delete": oneshot.Rejected} {
		err := new(Client).statusError(call{verb: verb, resource: configMaps, namespace: "n", name: "x"}, 403, http.Header{}, []byte("<html>"))
		wantCallError(t, err, kind)
	}
}

// A create that meets another one is repeated as it is. What was made for another
// state must not be.
func TestConflictsOfWritersAreNotThoseOfQuotas(t *testing.T) {
	t.Parallel()
	for verb, kind := range map[string]oneshot.Kind{"create": oneshot.Throttled, "update": oneshot.Conflict, "delete": oneshot.Conflict} {
		s := serve(t, refuse(http.StatusConflict, "Conflict", "try again"), nil)
		_, err := configMapCalls[verb](t.Context(), connect(t, s.config()))
		wantCallError(t, err, kind, "could not "+verb, "(HTTP 409): try again")
	}
}

// Nothing is sent that would be about something else.
func TestConfigMapCallsThatAreNotSent(t *testing.T) {
	t.Parallel()
	var got []asked
	s := serve(t, record(&got, func(http.ResponseWriter, *http.Request) {}), nil)
	c := connect(t, s.config())
	nameless := contract.Object{"metadata": map[string]any{}}
	for name, call := range map[string]func(ctx context.Context) error{
		"get":       func(ctx context.Context) error { _, err := c.ConfigMap(ctx, testNamespace, ""); return err },
		"get up":    func(ctx context.Context) error { _, err := c.ConfigMap(ctx, testNamespace, "a/../b"); return err },
		"list":      func(ctx context.Context) error { _, _, err := c.ConfigMaps(ctx, "", "a=b", ""); return err },
		"create":    func(ctx context.Context) error { _, err := c.CreateConfigMap(ctx, testNamespace, nameless); return err },
		"update":    func(ctx context.Context) error { _, err := c.UpdateConfigMap(ctx, testNamespace, nameless); return err },
		"delete":    func(ctx context.Context) error { return c.DeleteConfigMap(ctx, testNamespace, "", "uid-1", "7") },
		"any uid":   func(ctx context.Context) error { return c.DeleteConfigMap(ctx, testNamespace, "x", "", "7") },
		"any state": func(ctx context.Context) error { return c.DeleteConfigMap(ctx, testNamespace, "x", "uid-1", "") },
		"no JSON": func(ctx context.Context) error {
			_, err := c.CreateConfigMap(ctx, testNamespace, contract.Object{"metadata": map[string]any{"name": "x"}, "data": make(chan int)})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			wantCallError(t, call(t.Context()), oneshot.Rejected, "could not")
		})
	}
	if len(got) > 0 {
		t.Errorf("sent: %v", got)
	}
}

// What may have had its effect is not sent again behind the caller's back.
func TestConfigMapCallsAreSentOnce(t *testing.T) {
	t.Parallel()
	for verb, call := range configMapCalls {
		for proto, change := range map[string]func(*httptest.Server){"HTTP/2.0": nil, "HTTP/1.1": http1} {
			t.Run(verb+" "+proto, func(t *testing.T) {
				t.Parallel()
				var got []asked
				s := serve(t, record(&got, drop), change)
				_, err := call(t.Context(), connect(t, s.config()))
				wantCallError(t, err, oneshot.Unavailable, "could not "+verb+" configmaps")
				if reads := verb == "get" || verb == "list"; len(got) != 1 && !reads {
					t.Errorf("%d requests", len(got))
				}
			})
		}
	}
}

func TestConfigMapCallsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	for verb, call := range configMapCalls {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			s := serve(t, http.HandlerFunc(hang), nil)
			cause := errors.New("enough")
			ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, cause)
			defer cancel()
			_, err := call(ctx, connect(t, s.config()))
			if !errors.Is(err, cause) || !strings.HasPrefix(err.Error(), "could not "+verb+" configmaps") || strings.Contains(err.Error(), "  ") {
				t.Errorf("got %v", err)
			}
			if _, ok := errors.AsType[*oneshot.CallError](err); ok {
				t.Errorf("it is an answer: %v", err)
			}
		})
	}
}

// Someone who may not do it reads whom to ask.
func TestConfigMapRefusalOverTheNetwork(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write(testdata(t, "status/configmap-denied-update.json"))
	}), nil)
	_, err := configMapCalls["update"](t.Context(), connect(t, s.config(), WithManaged(byToken)))
	wantCallError(t, err, oneshot.Denied, "could not update configmaps aks-oneshot-x in namespace t1 (HTTP 403)",
		"allows update on configmaps to it")
}

// The token is in no text, wherever it comes back.
func TestConfigMapErrorsShowNoSecret(t *testing.T) {
	t.Parallel()
	for verb, call := range configMapCalls {
		s := serve(t, refuse(http.StatusUnprocessableEntity, "Invalid", "refused "+testToken+" "+url.QueryEscape(testToken)), nil)
		_, err := call(t.Context(), connect(t, s.config()))
		wantCallError(t, err, oneshot.Rejected, "could not "+verb+" configmaps")
	}
}
