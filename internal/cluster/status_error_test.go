package cluster

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// What a real API server answers, and what it means. The files are answers of
// Kubernetes 1.37.
func TestAnswersOfTheAPIServer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		file, verb string
		code       int
		kind       oneshot.Kind
		text       string
	}{
		{"absent", "get", 404, oneshot.NotFound, `jobs.batch "x" not found`},
		{"unknown", "get", 404, oneshot.Rejected, "could not find the requested resource"},
		{"unknown", "create", 404, oneshot.Rejected, "could not find the requested resource"},
		{"unauthorized", "get", 401, oneshot.Denied, "Unauthorized"},
		{"unauthorized", "create", 401, oneshot.Denied, "Unauthorized"},
		{"denied-get", "get", 403, oneshot.Denied, `cannot get resource "jobs" in API group "batch" in the namespace "n"`},
		{"denied-watch", "watch", 403, oneshot.Denied, `cannot watch resource "jobs"`},
		{"denied-create", "create", 403, oneshot.Denied, `cannot create resource "jobs"`},
		{"create-absent-namespace", "create", 404, oneshot.NotFound, `namespaces "missing" not found`},
		{"quota", "create", 403, oneshot.Rejected, "exceeded quota: q, requested: count/jobs.batch=1"},
		{"terminating", "create", 403, oneshot.Rejected, "namespace dying because it is being terminated"},
		{"policy", "create", 422, oneshot.Rejected, "denied request: jobs need a ticket"},
		{"hook-down", "create", 500, oneshot.Unavailable, `failed calling webhook "hook.example.com"`},
		{"strict", "create", 400, oneshot.Rejected, "strict decoding error: unknown field"},
		{"invalid", "create", 422, oneshot.Rejected, "a lowercase RFC 1123 subdomain"},
		{"exists", "create", 409, oneshot.AlreadyExists, `jobs.batch "x" already exists`},
	}
	for _, test := range tests {
		t.Run(test.file+" "+test.verb, func(t *testing.T) {
			t.Parallel()
			namespace := "n"
			if test.file == "create-absent-namespace" {
				namespace = "missing"
			}
			c := call{verb: test.verb, resource: jobs, namespace: namespace, name: "x"}
			err := new(Client).statusError(c, test.code, http.Header{}, testdata(t, "status/"+test.file+".json"))
			wantCallError(t, err, test.kind, test.text)
			if err.Status != test.code || err.Reason == "" {
				t.Errorf("status %d, reason %q", err.Status, err.Reason)
			}
		})
	}
}

// Who refuses decides: an authorizer, or admission that may quote one.
func TestRefusalsByAuthorizationAndByAdmission(t *testing.T) {
	t.Parallel()
	denied := []string{
		`jobs.batch is forbidden: User "system:serviceaccount:ci:dev" cannot create resource "jobs" in API group "batch" in the namespace "n"`,
		`jobs.batch is forbidden: User "a\"b" cannot create resource "jobs" in API group "batch" in the namespace "n": RBAC: role.rbac.authorization.k8s.io "r" not found`,
		`jobs.batch is forbidden: User "0a1b" cannot create resource "jobs" in API group "batch" in the namespace "n": User does not have access to the resource in Azure. Update role assignment to allow access.`,
		`users "x" is forbidden: User "dev" cannot impersonate resource "users" in API group "" at the cluster scope`,
		`forbidden: User "system:anonymous" cannot post path "/apis/batch/v1/namespaces/n/jobs"`,
	}
	rejected := []string{
		`admission webhook "v.example" denied the request: User "dev" cannot create resource "jobs" on Fridays`,
		`jobs.batch "x" is forbidden: admission webhook: User "dev" cannot create resource "jobs"`,
		`jobs.batch "x" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true`,
		`jobs.batch "x" is forbidden: exceeded quota: q, requested: count/jobs.batch=1, used: 0, limited: 0`,
		`jobs.batch "x" is forbidden: error looking up service account n/s: serviceaccount "s" not found`,
		``,
	}
	for kind, messages := range map[oneshot.Kind][]string{oneshot.Denied: denied, oneshot.Rejected: rejected} {
		for _, message := range messages {
			body := statusBody(http.StatusForbidden, "Forbidden", message)
			err := new(Client).statusError(call{verb: "create", resource: jobs, namespace: "n", name: "x"}, http.StatusForbidden, nil, body)
			if err.Kind != kind {
				t.Errorf("kind %d, want %d: %s", err.Kind, kind, message)
			}
		}
	}
}

// Something between here and the API server answers. It is nobody's word on
// whether a Job is there.
func TestAnswersOfSomethingElse(t *testing.T) {
	t.Parallel()
	page := "<html>\r\n<head><title>%s</title></head>\r\n<body><center><h1>Gateway says</h1></center><hr>nginx</body></html>"
	tests := []struct {
		verb string
		code int
		body string
		kind oneshot.Kind
		text string
	}{
		{"get", 404, "404 page not found\n", oneshot.Rejected, "not that of a Kubernetes API server: 404 page not found"},
		{"get", 404, `{"error":{"code":"ResourceNotFound"}}`, oneshot.Rejected, "not that of a Kubernetes API server"},
		{"create", 404, page, oneshot.Rejected, "Gateway says nginx"},
		{"get", 403, page, oneshot.Denied, "Gateway says nginx"},
		{"create", 403, page, oneshot.Rejected, "Gateway says nginx"},
		{"create", 401, page, oneshot.Denied, "Gateway says nginx"},
		{"create", 409, page, oneshot.Rejected, "Gateway says nginx"},
		{"create", 413, page, oneshot.Rejected, "Gateway says nginx"},
		{"get", 408, "", oneshot.Unavailable, "not that of a Kubernetes API server"},
		{"get", 429, "slow down", oneshot.Throttled, "slow down"},
		{"create", 500, "", oneshot.Unavailable, "not that of a Kubernetes API server"},
		{"create", 502, page, oneshot.Unavailable, "Gateway says nginx"},
		{"create", 503, "upstream connect error", oneshot.Unavailable, "upstream connect error"},
		{"create", 504, page, oneshot.Unavailable, "Gateway says nginx"},
		{"create", 502, "\x00\xff\xfe::set-output name=x::y\n\x1b[2J" + strings.Repeat("a", 1<<20), oneshot.Unavailable, "…"},
	}
	for _, test := range tests {
		err := new(Client).statusError(call{verb: test.verb, resource: jobs, namespace: "n", name: "x"}, test.code, http.Header{}, []byte(test.body))
		wantCallError(t, err, test.kind, test.text)
		if text := err.Error(); len(text) > 500 || strings.ContainsAny(text, "\x00\x1b\n\r") || !utf8.ValidString(text) {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	}
}

func TestConflictMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	body := statusBody(http.StatusConflict, "Conflict", `Operation cannot be fulfilled on resourcequotas "q": the object has been modified`)
	err := new(Client).statusError(call{verb: "create", resource: jobs, namespace: "n", name: "x"}, http.StatusConflict, nil, body)
	wantCallError(t, err, oneshot.Throttled, "resourcequotas")
}

// Field case: 429 with Retry-After.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	in := time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat)
	tests := []struct {
		header   string
		details  int32
		min, max time.Duration
	}{
		{"", 0, 0, 0},
		{"17", 0, 17 * time.Second, 17 * time.Second},
		{" 1 ", 3, 3 * time.Second, 3 * time.Second},
		{"", 10, 10 * time.Second, 10 * time.Second},
		{"-5", -7, 0, 0},
		{"soon", 0, 0, 0},
		{"99999999999999999999", 0, 0, 0},
		{"86400", 0, time.Hour, time.Hour},
		{in, 0, 85 * time.Second, 91 * time.Second},
	}
	for _, test := range tests {
		status := metav1.Status{}
		if test.details != 0 {
			status.Details = &metav1.StatusDetails{RetryAfterSeconds: test.details}
		}
		header := http.Header{}
		header.Set("Retry-After", test.header)
		if got := retryAfter(header, status); got < test.min || got > test.max {
			t.Errorf("Retry-After %q, details %d: %s, want %s to %s", test.header, test.details, got, test.min, test.max)
		}
	}
}

func TestMessagesAreOneShortLine(t *testing.T) {
	t.Parallel()
	body := statusBody(400, "BadRequest", "first\nsecond\t\u202ethird\u0000 \x1b[31m"+strings.Repeat("ü", 5000))
	err := new(Client).statusError(call{verb: "create", resource: jobs, namespace: "n", name: "x"}, 400, nil, body)
	text := err.Err.Error()
	if !strings.HasPrefix(text, "first second third [31mü") || len([]rune(text)) != maxMessage+1 {
		t.Errorf("%d characters: %.60s", len([]rune(text)), text)
	}
}
