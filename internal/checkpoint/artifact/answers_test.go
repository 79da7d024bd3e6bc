package artifact

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
)

func TestIdentityInToken(t *testing.T) {
	t.Parallel()
	token := func(claims string) string {
		return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
	}
	for name, c := range map[string]struct {
		token string
		want  identity
	}{
		"alone":                   {token(`{"scp":"Actions.Results:r:j"}`), identity{"r", "j"}},
		"among others":            {token(`{"scp":"Actions.GenericRead:x:y Actions.Results:r:j Actions.Results:a:b"}`), identity{"r", "j"}},
		"with padding":            {"e30." + base64.URLEncoding.EncodeToString([]byte(`{"scp":"Actions.Results:r:j"}`)) + ".c2ln", identity{"r", "j"}},
		"no scope":                {token(`{}`), identity{}},
		"other scopes":            {token(`{"scp":"Actions.ResultsX:r:j Actions.Results:r Actions.Results:r:j:k Actions.Results::j"}`), identity{}},
		"a scope that is no text": {token(`{"scp":["Actions.Results:r:j"]}`), identity{}},
		"no JSON":                 {token(`x`), identity{}},
		"no Base64":               {"a.&.b", identity{}},
		"no token":                {"ghs_abc", identity{}},
		"nothing":                 {"", identity{}},
	} {
		have, ok := identityIn(c.token)
		if have != c.want || ok != (c.want != identity{}) {
			t.Errorf("%s: %+v, %t", name, have, ok)
		}
	}
}

func TestListsAreDecoded(t *testing.T) {
	t.Parallel()
	want := []row{{name: name{"e", checkpoint.Terminal, 1, 1}, id: 7, size: 9, digest: "sha256:ab", run: "r", job: "j"}}
	for label, body := range map[string]string{
		"snake case":        `{"artifacts":[{"workflow_run_backend_id":"r","workflow_job_run_backend_id":"j","database_id":"7","name":"e.terminal.1","size":"9","digest":"sha256:ab"}]}`,
		"camel case":        `{"artifacts":[{"workflowRunBackendId":"r","workflowJobRunBackendId":"j","databaseId":"7","name":"e.terminal.1","size":"9","digest":"sha256:ab"}]}`,
		"numbers":           `{"artifacts":[{"workflowRunBackendId":"r","workflowJobRunBackendId":"j","databaseId":7,"name":"e.terminal.1","size":9,"digest":"sha256:ab"}]}`,
		"more than we know": `{"next":{"a":[1]},"artifacts":[{"x":null,"workflowRunBackendId":"r","workflowJobRunBackendId":"j","databaseId":7,"name":"e.terminal.1","size":9,"digest":"sha256:ab"},{"name":"log","digest":null,"size":null}],"more":1}`,
		"none":              `{"artifacts":[]}`,
		"null":              `{"artifacts":null}`,
		"nothing":           `{}`,
	} {
		var have []row
		err := decodeList(strings.NewReader(body), func(l listed) {
			if r, ok := l.row(); ok {
				have = append(have, r)
			}
		})
		expected := want
		if strings.HasPrefix(label, "n") && label != "numbers" {
			expected = nil
		}
		if diff := cmp.Diff(expected, have, cmp.AllowUnexported(row{}, name{})); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +have):\n%s", label, err, diff)
		}
	}
	for body, says := range map[string]string{
		"":                                  "it is not JSON",
		"[]":                                "it is not the JSON that was expected",
		"<html>":                            "it is not JSON",
		`{"artifacts":{}}`:                  "its artifacts are no list",
		`{"artifacts":["secret"]}`:          "a value is of another type",
		`{"artifacts":[{"size":"secret"}]}`: "it is no number of 64 bits",
		`{"artifacts":[{}`:                  "it is not JSON",
		`{"artifacts":[]`:                   "it is not JSON",
		`{"other":[`:                        "it is not JSON",
		`{"artifacts":`:                     "it is not JSON",
	} {
		err := decodeList(strings.NewReader(body), func(listed) {})
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", body, err, says)
		}
	}
}

// FuzzAnswers reads arbitrary text as each of the answers. What is taken has what is
// needed of it.
func FuzzAnswers(f *testing.F) {
	for _, text := range []string{
		`{"ok":true,"signed_upload_url":"https://a"}`, `{"ok":true,"artifactId":"7"}`, `{"signedUrl":"https://a"}`,
		`{"artifacts":[{"name":"e.terminal.1","database_id":"7","size":9}]}`, `{"ok":false}`, `[]`, `{"artifacts":[{"size":"x"}]}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var c created
		if err := decode(&c)(strings.NewReader(text)); err == nil && (!c.OK || c.url() == "") {
			t.Errorf("taken: %+v", c)
		}
		var d finalized
		if err := decode(&d)(strings.NewReader(text)); err == nil && !d.OK {
			t.Errorf("taken: %+v", d)
		}
		var l located
		if err := decode(&l)(strings.NewReader(text)); err == nil && l.url() == "" {
			t.Errorf("taken: %+v", l)
		}
		_ = decodeList(strings.NewReader(text), func(l listed) {
			if r, ok := l.row(); ok && r.name.String() != l.Name {
				t.Errorf("%+v is taken for %+v", l, r)
			}
		})
	})
}
