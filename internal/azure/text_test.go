package azure

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// jwtOf is a token with such a payload, which nobody signed.
func jwtOf(payload string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".c2ln"
}

func TestClaims(t *testing.T) {
	t.Parallel()
	all := claims{Issuer: "i", Subject: "s", Audience: "a", ObjectID: "o"}
	for token, want := range map[string]claims{
		jwtOf(`{"iss":"i","sub":"s","aud":"a","oid":"o"}`):   all,
		jwtOf(`{"iss":"i","sub":"s","aud":["a"],"oid":"o"}`): all,
		jwtOf(`{"aud":["a","b"]}`):                           {Audience: "a b"},
		jwtOf(`{"aud":7}`):                                   {},
		jwtOf(`{"sub":"s","iss":7}`):                         {},
		jwtOf(`[]`):                                          {},
		"":                                                   {},
		"a.b":                                                {},
		"a.!.c":                                              {},
		"a.e30.c.d":                                          {},
	} {
		if diff := cmp.Diff(want, claimsOf(token)); diff != "" {
			t.Errorf("%s: %s", token, diff)
		}
	}
}

func FuzzClaims(f *testing.F) {
	f.Add(`{"iss":"i","sub":"s","aud":"a"}`)
	f.Add(`{"aud":["a","b"]}`)
	f.Add(`{"aud":null,"sub":1e9}`)
	f.Fuzz(func(t *testing.T, payload string) {
		_ = claimsOf(payload)
		got := claimsOf(jwtOf(payload))
		var want struct {
			Subject string `json:"sub"`
		}
		if got != (claims{}) && (json.Unmarshal([]byte(payload), &want) != nil || want.Subject != got.Subject) {
			t.Errorf("%q has the subject %q, want %q", payload, got.Subject, want.Subject)
		}
		for _, c := range denials {
			checkLine(t, c.fix(newLogin(t.Context(), Options{pace: &usual}), got))
		}
	})
}

// checkLine holds a text to one line that commands nobody.
func checkLine(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if r != ' ' && (!unicode.IsPrint(r) || r == utf8.RuneError) {
			t.Errorf("%q holds %q", text, r)
		}
	}
}

func TestDenials(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		code        int
		text, trace string
	}{
		`{"error":"invalid_client","error_description":"AADSTS700213: No match. Trace ID: a Correlation ID: b Timestamp: c","error_codes":[700213],"correlation_id":"0123abcd-0"}`: {700213, "AADSTS700213: No match.", " (correlation id 0123abcd-0)"},
		"{\"error_description\":\"AADSTS90002: No\\r\\nsuch.\\r\\nTrace ID: a\\r\\nTimestamp: c\"}":                                                                                {90002, "AADSTS90002: No such.", ""},
		`{"error_codes":[50034],"correlation_id":"x y"}`:         {50034, "Entra answered AADSTS50034", ""},
		`{"error_codes":[-1]}`:                                   {0, "Entra answered AADSTS0", ""},
		`{"error_description":"XAADSTS700213: no"}`:              {0, "XAADSTS700213: no", ""},
		`{"error_codes":"x","error_description":"AADSTS700213"}`: {0, "Entra answered AADSTS0", ""},
		`<html>AADSTS700213</html>`:                              {0, "Entra answered AADSTS0", ""},
	} {
		d, code := denialIn([]byte(body))
		if code != want.code || d.text() != want.text || d.trace() != want.trace {
			t.Errorf("%s is read as %d, %q, %q", body, code, d.text(), d.trace())
		}
	}
}

func FuzzDenials(f *testing.F) {
	f.Add([]byte(`{"error":"invalid_client","error_description":"AADSTS700213: No match. Trace ID: a","error_codes":[700213],"correlation_id":"0123abcd"}`), 401)
	f.Add([]byte(`{"error":{"code":"AuthorizationFailed","message":"The client"}}`), 403)
	f.Add([]byte("<!doctype html><html><body>\x1b[31m</body>"), 503)
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		l := newLogin(t.Context(), Options{Auth: CLI, pace: &usual, Getenv: func(string) string { return "" }})
		l.mask("hunter2-never-shown")
		a := answer{host: "a.example", status: status, body: append(body, "hunter2-never-shown"...)}
		for _, b := range [][]byte{body, a.body} {
			a.body = b
			for _, err := range []error{
				l.denied("asking", seen{answer: a}), l.pipelinesRefused(a), l.identityRefused("asking", a), l.refused("reading", getUser, a),
			} {
				checkLine(t, err.Error())
				if strings.Contains(err.Error(), "hunter2-never-shown") {
					t.Errorf("%q holds a secret", err)
				}
			}
		}
	})
}

func TestMessageIn(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"error":"x","error_description":"of OAuth"}`: "of OAuth",
		`{"$id":"1","message":"of Azure DevOps"}`:      "of Azure DevOps",
		`{"error":{"code":"x","message":"of Azure"}}`:  "of Azure",
		`{"error":"x"}`: "", `{"error":7}`: "", `[]`: "", ``: "", `{"message":7}`: "",
	} {
		if got := messageIn([]byte(body)); got != want {
			t.Errorf("%s says %q, want %q", body, got, want)
		}
	}
}

func TestLater(t *testing.T) {
	t.Parallel()
	for after, want := range map[string]string{
		"": "Run again in a few minutes", "0": "Run again in a few minutes", "soon": "Run again in a few minutes", "-7": "Run again in a few minutes",
		"90": "Run again in 90 s, as it asks for", "99999999999": "Run again in 86400 s, as it asks for",
	} {
		if got := (answer{header: http.Header{"Retry-After": {after}}}).later(); got != want {
			t.Errorf("%q becomes %q", after, got)
		}
	}
	in := time.Now().Add(2 * time.Hour).UTC().Format(http.TimeFormat)
	if got := (answer{header: http.Header{"Retry-After": {in}}}).later(); !regexp.MustCompile(`^Run again in 7(?:200|1..) s, as it asks for$`).MatchString(got) {
		t.Errorf("%q becomes %q", in, got)
	}
}

// A person has a Role bound by another name than an application.
func TestWhoTheAPIServerKnows(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"oid":"o"}`:                         "o",
		`{"oid":"o","upn":"ada@example.com"}`: "ada@example.com",
		`{"oid":"o","upn":"ada_gmail.com#EXT#@x.onmicrosoft.com"}`: "o",
		`{"upn":""}`: "",
	} {
		if have := claimsOf(jwtOf(payload)).user(); have != want {
			t.Errorf("%s: %q, want %q", payload, have, want)
		}
	}
}
