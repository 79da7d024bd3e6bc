package azure

import (
	"net/http"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// token matches requests for tokens, document those for Entra's addresses.
var (
	tokenRequest = standin.PathEnds("/oauth2/v2.0/token")
	document     = standin.PathEnds("/.well-known/openid-configuration")
)

func job(change func(*standin.Job)) func(*world) {
	return func(w *world) { w.GitHub.Change(change) }
}

func pullRequestJob(j *standin.Job) { j.Environment, j.EventName = "", "pull_request" }

// answers has Entra answer every request for a token so.
func answers(answer standin.Answer) func(*world) {
	return func(w *world) { w.Entra.On(tokenRequest, -1, answer) }
}

func code(number int, header ...string) func(*world) {
	return func(w *world) { w.Entra.On(tokenRequest, -1, w.Entra.Error(number, header...)) }
}

// entraFailures are those of a job of GitHub, with Entra.
var entraFailures = []failing{
	{"entra-700213-environment", job(func(j *standin.Job) { j.Environment = "staging" })},
	{"entra-700213-branch", job(func(j *standin.Job) { j.Environment, j.Ref = "", "refs/heads/feature/x" })},
	{"entra-700213-tag", job(func(j *standin.Job) { j.Environment, j.Ref = "", "refs/tags/v1.2.3" })},
	{"entra-700213-pull-request", job(pullRequestJob)},
	{"entra-700213-environment-pull-request", job(func(j *standin.Job) { j.Environment = "pull_request" })},
	{"entra-700213-immutable", job(func(j *standin.Job) { j.Immutable = true })},
	{"entra-700213-file", job(func(j *standin.Job) { j.Subject = "@/etc/passwd" })},
	{"entra-700213-hostile", job(func(j *standin.Job) { j.Subject = "repo:acme/o'rders:environment:\x1b[31m$(reboot)\n::error::x" })},
	{"entra-7002138", job(func(j *standin.Job) { j.Environment = "Production" })},
	{"entra-70021", code(70021)},
	{"entra-700211", func(w *world) {
		w.Entra.ChangeApp(standin.TenantID, standin.ClientID, func(a *standin.App) { a.Credentials[0].Issuer += "/acme" })
	}},
	{"entra-700211-pull-request", func(w *world) {
		w.GitHub.Change(pullRequestJob)
		code(700211)(w)
	}},
	{"entra-700212-pull-request", func(w *world) {
		w.GitHub.Change(pullRequestJob)
		code(700212)(w)
	}},
	{"entra-7002138-pull-request", func(w *world) {
		w.GitHub.Change(pullRequestJob)
		code(7002138)(w)
	}},
	{"entra-700212-usual", code(700212)},
	{"entra-700212", func(w *world) { w.options.Cloud.Audience = "api://acme" }},
	{"entra-700024", job(func(j *standin.Job) { j.Shift = -time.Hour })},
	{"entra-700016", func(w *world) { w.options.ClientID = "00000000-0000-0000-0000-00000000dead" }},
	{"entra-90002-document", func(w *world) { w.options.TenantID = "00000000-0000-0000-0000-00000000dead" }},
	{"entra-90002-token", code(90002)},
	{"entra-500011", func(w *world) { w.options.Cloud.ResourceManagerAudience = "https://nowhere.example" }},
	{"entra-500011-api-server", func(w *world) {
		w.Entra.Change(func(o *standin.EntraOptions) { o.Resources = []string{w.ARM.URL} })
	}},
	{"entra-53003", code(53003)},
	{"entra-7000112", code(7000112)},
	{"entra-unknown", answers(standin.Status(http.StatusBadRequest,
		`{"error":"invalid_request","error_description":"AADSTS9999999: Something new. Trace ID: 1 Correlation ID: 2 Timestamp: 3","error_codes":[9999999]}`,
		"Content-Type", "application/json"))},
	{"entra-oauth-only", answers(standin.Status(http.StatusBadRequest, `{"error":"invalid_request","error_description":"Not one of Entra's."}`, "Content-Type", "application/json"))},
	{"entra-429", code(90055)},
	{"entra-429-soon", all(twice, code(90055, "Retry-After", "1"))},
	{"entra-429-late", code(90055, "Retry-After", "3600")},
	{"entra-503", code(90033)},
	{"entra-503-html", answers(standin.HTML(http.StatusServiceUnavailable))},
	{"entra-403-html", answers(standin.HTML(http.StatusForbidden))},
	{"entra-200-html", answers(standin.HTML(http.StatusOK))},
	{"entra-200-cut-json", answers(standin.BadJSON())},
	{"entra-200-empty", answers(standin.Empty())},
	{"entra-200-no-token", answers(standin.Status(http.StatusOK, `{"token_type":"Bearer","expires_in":3599}`, "Content-Type", "application/json"))},
	{"entra-200-token-in-rubbish", func(w *world) {
		w.Entra.On(tokenRequest, -1, func(rw http.ResponseWriter, r *http.Request, _ http.Handler) {
			token, err := w.GitHub.Token("api://echo")
			if err != nil {
				w.t.Error(err)
			}
			standin.Status(http.StatusOK, `{"access_token":"`+token+`",}`, "Content-Type", "application/json")(rw, r, nil)
		})
	}},
	{"entra-400-echo", func(w *world) {
		w.Entra.On(tokenRequest, -1, func(rw http.ResponseWriter, r *http.Request, _ http.Handler) {
			_ = r.ParseForm()
			standin.Status(http.StatusBadRequest, "cannot read "+r.PostForm.Encode())(rw, r, nil)
		})
	}},
	{"entra-echo-in-description", func(w *world) {
		w.Entra.On(tokenRequest, -1, func(rw http.ResponseWriter, r *http.Request, _ http.Handler) {
			_ = r.ParseForm()
			standin.Status(http.StatusUnauthorized, `{"error_description":"AADSTS50027: The JWT `+r.PostForm.Get("client_assertion")+` is malformed.","error_codes":[50027]}`)(rw, r, nil)
		})
	}},
	{"entra-echo-cut", func(w *world) {
		w.Entra.On(tokenRequest, -1, func(rw http.ResponseWriter, r *http.Request, _ http.Handler) {
			_ = r.ParseForm()
			assertion := r.PostForm.Get("client_assertion")
			standin.Status(http.StatusUnauthorized, `{"error_description":"AADSTS50027: The JWT '`+assertion[:len(assertion)-20]+`…' is malformed.","error_codes":[50027]}`)(rw, r, nil)
		})
	}},
	{"entra-302", answers(standin.Status(http.StatusFound, "", "Location", "https://portal.example/login"))},
	{"entra-cut", answers(standin.CutBody())},
	{"entra-dropped", answers(standin.Drop())},
	{"entra-huge", answers(standin.Huge(8 << 20))},
	// Whatever is slow on a busy machine, it is Entra that does not answer.
	{"entra-hanging", func(w *world) {
		w.options.pace.retries.TryTimeout, w.options.pace.retries.MaxRetries = 300*time.Millisecond, 1
		w.Entra.On(standin.Any, -1, standin.Hang())
	}},
	{"entra-hanging-to-the-limit", func(w *world) { w.Entra.On(document, -1, w.hangingToTheLimit()) }},
	{"entra-document-503", func(w *world) { w.Entra.On(document, -1, standin.HTML(http.StatusServiceUnavailable)) }},
	{"entra-document-html", func(w *world) { w.Entra.On(document, -1, standin.HTML(http.StatusOK)) }},
	{"entra-document-of-another", func(w *world) {
		w.Entra.On(document, -1, standin.Status(http.StatusOK,
			`{"issuer":"https://other.example/x/v2.0","token_endpoint":"https://other.example/token","authorization_endpoint":"https://other.example/authorize"}`,
			"Content-Type", "application/json"))
	}},
	{"entra-document-to-http", func(w *world) {
		w.Entra.On(document, -1, standin.Status(http.StatusOK,
			`{"issuer":"`+w.Entra.URL+`/x/v2.0","token_endpoint":"http://other.example/token","authorization_endpoint":"https://other.example/authorize"}`,
			"Content-Type", "application/json"))
	}},
}
