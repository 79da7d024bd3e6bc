package conformance

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// units is units.json.
type units struct {
	Canonical []struct {
		Input, Canonical, SHA256 string
	}
	TemplateDigest []struct {
		Name           string
		CronJob        json.RawMessage `json:"cronjob"`
		LiveCronJob    json.RawMessage `json:"live_cronjob"`
		ScheduledJob   json.RawMessage `json:"scheduled_job"`
		TemplateName   string          `json:"template_name"`
		Namespace      string
		SourceRevision string `json:"source_revision"`
		Expect         struct {
			TemplateDigest string `json:"template_digest"`
			Error          string
		}
	} `json:"template_digest"`
	IdentityBinding []struct {
		Name           string
		ScheduledJob   json.RawMessage `json:"scheduled_job"`
		TemplateName   string          `json:"template_name"`
		Namespace      string
		TenantID       string `json:"tenant_id"`
		SubscriptionID string `json:"subscription_id"`
		Expect         struct {
			Binding json.RawMessage
			Error   string
		}
	} `json:"identity_binding"`
	TerminalState []struct {
		Name   string
		Job    json.RawMessage
		Expect struct{ State, Error string }
	} `json:"terminal_state"`
}

// loneSurrogate is the one input that may be refused instead of matched: it has
// no exact Unicode value.
const loneSurrogate = `"\ud800"`

func (u units) run(t *testing.T) {
	for i, c := range u.Canonical {
		vector(t, fmt.Sprintf("canonical/%d", i), func(t *testing.T) {
			v, err := contract.Parse([]byte(c.Input))
			if c.Input == loneSurrogate && err != nil {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			have, err := contract.Canonical(v)
			if err != nil || string(have) != c.Canonical {
				t.Errorf("canonical form of %s is %s (%v), want %s", c.Input, have, err, c.Canonical)
			}
			if digest, err := contract.DigestOf(v); err != nil || digest.String() != c.SHA256 {
				t.Errorf("digest of %s is %s (%v), want %s", c.Input, digest, err, c.SHA256)
			}
		})
	}
	for _, c := range u.TemplateDigest {
		vector(t, "template_digest/"+c.Name, func(t *testing.T) {
			digest, err := contract.ScheduledJobDigest(value(t, c.ScheduledJob), c.TemplateName, c.Namespace, c.SourceRevision)
			checkCode(t, err, c.Expect.Error)
			if digest.String() != c.Expect.TemplateDigest {
				t.Errorf("digest of the scheduled job is %q, want %q", digest, c.Expect.TemplateDigest)
			}
			if c.Expect.Error != "" {
				return
			}
			for name, cronJob := range map[string]json.RawMessage{"cronjob": c.CronJob, "live_cronjob": c.LiveCronJob} {
				digest, err := contract.TemplateDigest(object(t, cronJob))
				if err != nil || digest.String() != c.Expect.TemplateDigest {
					t.Errorf("digest of the %s is %s (%v), want %s", name, digest, err, c.Expect.TemplateDigest)
				}
			}
		})
	}
	for _, c := range u.IdentityBinding {
		vector(t, "identity_binding/"+c.Name, func(t *testing.T) {
			b, err := contract.NewBinding(value(t, c.ScheduledJob), c.TemplateName, c.Namespace, c.TenantID, c.SubscriptionID)
			checkCode(t, err, c.Expect.Error)
			if c.Expect.Error == "" {
				sameJSON(t, "binding", b.Object(), object(t, c.Expect.Binding))
			}
		})
	}
	for _, c := range u.TerminalState {
		vector(t, "terminal_state/"+c.Name, func(t *testing.T) {
			state, err := contract.StateOf(value(t, c.Job))
			checkCode(t, err, c.Expect.Error)
			if string(state) != c.Expect.State {
				t.Errorf("state is %q, want %q", state, c.Expect.State)
			}
		})
	}
}

func checkCode(t *testing.T, err error, want string) {
	t.Helper()
	if have := failure.CodeOf(err); string(have) != want || (err != nil) != (want != "") {
		t.Errorf("the error is %v, want the code %q", err, want)
	}
}

func value(t *testing.T, data json.RawMessage) any {
	t.Helper()
	v, err := contract.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func object(t *testing.T, data json.RawMessage) contract.Object {
	t.Helper()
	o, err := contract.ParseObject(data)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func sameJSON(t *testing.T, what string, have, want any) {
	t.Helper()
	h, errH := contract.Canonical(have)
	w, errW := contract.Canonical(want)
	if errH != nil || errW != nil {
		t.Fatalf("%s: %v, %v", what, errH, errW)
	}
	if diff := cmp.Diff(string(w), string(h)); diff != "" {
		t.Errorf("%s (-want +have):\n%s", what, diff)
	}
}
