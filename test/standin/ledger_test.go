package standin_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// forms are how a secret can stand in a text.
func forms(secret string) map[string]string {
	quoted, err := json.Marshal("a\n" + secret)
	if err != nil {
		panic(err)
	}
	var wrapped []string
	for part := range slices.Chunk([]byte(secret), 40) {
		wrapped = append(wrapped, string(part))
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(secret))
	return map[string]string{
		"plain":               "before " + secret + " after",
		"JSON":                string(quoted),
		"JSON in JSON":        fmt.Sprintf("%q", quoted),
		"URL":                 "https://x.test/?a=" + url.QueryEscape(secret) + "&b=c",
		"wrapped":             strings.Join(wrapped, "\n    "),
		"base64":              "value: " + encoded,
		"base64 for URLs":     "value: " + base64.RawURLEncoding.EncodeToString([]byte(secret)),
		"base64, other place": base64.StdEncoding.EncodeToString([]byte("user:" + secret)),
		"base64 twice":        base64.StdEncoding.EncodeToString([]byte(encoded)),
		"base64 in a URL":     "?a=" + url.QueryEscape(encoded),
		"base64 cut off":      encoded[5:],
		"a part":              secret[len(secret)-30 : len(secret)-6],
	}
}

func TestLedgerFinds(t *testing.T) {
	t.Parallel()
	a := start(t)
	_, ec, err := a.Authority.Client("me")
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(rsaKey)
	if err != nil {
		t.Fatal(err)
	}
	for kind, secret := range map[string]string{
		"an id token of GitHub":                      idToken(t, a),
		"the request token of GitHub":                a.GitHub.RequestToken,
		"an id token of Azure Pipelines":             "",
		"an access token for " + standin.AKSServerID: accessToken(t, a, standin.AKSServerID),
		"the access token of Azure Pipelines":        a.Pipelines.AccessToken,
		"the header of a managed identity":           a.Entra.NewIdentity(standin.TenantID, standin.ClientID).Header,
	} {
		for form, text := range forms(secret + strings.Repeat("-", max(0, 40-len(secret)))) {
			if secret == "" || form == "a part" && len(secret) < 60 {
				continue
			}
			if got := a.Ledger.Scan("out", []byte(text)); !slices.Contains(got, "out holds "+kind) {
				t.Errorf("%s as %s: found %v", kind, form, got)
			}
		}
	}
	for kind, key := range map[string][]byte{"an EC key": ec, "an RSA key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})} {
		ledger := standin.NewLedger()
		if got := ledger.Scan("out", key); got != nil {
			t.Errorf("%s before it is known: %v", kind, got)
		}
		if err := ledger.AddKey(kind, key); err != nil {
			t.Fatal(err)
		}
		for form, text := range forms(string(key)) {
			if form == "a part" {
				text = strings.ReplaceAll(string(key), "\n", "")[len(key)/2-60:][:24]
				if kind == "an EC key" {
					text = strings.ReplaceAll(string(key), "\n", "")[40:64]
				}
			}
			if got := ledger.Scan("out", []byte(text)); !cmp.Equal(got, []string{"out holds " + kind}) {
				t.Errorf("%s as %s: found %v in %q", kind, form, got, text)
			}
		}
	}
}

// Any piece of 24 characters of a signature is found, and a whole password
// however short.
func TestLedgerFindsPieces(t *testing.T) {
	t.Parallel()
	a := start(t)
	token := idToken(t, a)
	parts := strings.Split(token, ".")
	for at := range len(parts[2]) - 24 {
		if a.Ledger.Scan("x", []byte("..."+parts[2][at:at+24]+"...")) == nil {
			t.Fatalf("a piece at %d is not found", at)
		}
	}
	for length := 24; length < len(token); length += 7 {
		if length > len(parts[0])+24 && a.Ledger.Scan("x", []byte(token[:length])) == nil {
			t.Fatalf("the first %d characters are not found", length)
		}
	}
	a.Ledger.AddText("a password", "pass-word")
	if got := a.Ledger.Scan("x", []byte("http://u:pass-word@proxy")); !cmp.Equal(got, []string{"x holds a password"}) {
		t.Errorf("found %v", got)
	}
	if got := a.Ledger.Scan("x", []byte(base64.StdEncoding.EncodeToString([]byte("user:pass-word")))); !cmp.Equal(got, []string{"x holds a password"}) {
		t.Errorf("found %v", got)
	}
}

// What is public is no find: claims, key sets, certificates, a kubeconfig without
// a key, and the header that every token has.
func TestLedgerFindsNoMore(t *testing.T) {
	t.Parallel()
	a := start(t)
	certificate, key, err := a.Authority.Client("me", "group")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Ledger.AddKey("a key", key); err != nil {
		t.Fatal(err)
	}
	token := idToken(t, a)
	claims, err := json.Marshal(claimsOf(t, token))
	if err != nil {
		t.Fatal(err)
	}
	config, err := a.AuthenticationConfiguration()
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Ledger.Scan("claims", claims); got != nil {
		t.Error(got)
	}
	public := [][]byte{certificate, config, a.Authority.PEM, []byte(strings.SplitAfter(token, ".")[0]), []byte(fmt.Sprint(a.Inputs(), a.Entra.Issuer(standin.TenantID)))}
	for _, address := range []string{a.GitHub.URL + "/.well-known/jwks", a.GitHub.URL + "/.well-known/openid-configuration"} {
		public = append(public, do(t, client(t, a), "GET", address, "").Body)
	}
	for _, data := range public {
		for _, text := range []string{string(data), base64.StdEncoding.EncodeToString(data)} {
			if got := a.Ledger.Scan("x", []byte(text)); got != nil {
				t.Errorf("%v in %s", got, data)
			}
		}
	}
	noise := make([]byte, 64<<10)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{noise, []byte(base64.StdEncoding.EncodeToString(noise))} {
		if got := a.Ledger.Scan("x", data); got != nil {
			t.Errorf("%v in noise", got)
		}
	}
	if got := a.Ledger.Kinds(); !slices.Contains(got, "a key") || !slices.Contains(got, "an id token of GitHub") {
		t.Errorf("kinds: %v", got)
	}
}

func TestLedgerRefuses(t *testing.T) {
	t.Parallel()
	ledger := standin.NewLedger()
	for name, key := range map[string]string{
		"nothing": "", "no PEM": "abc", "a certificate": string(authority(t).PEM),
		"an empty key": "-----BEGIN EC PRIVATE KEY-----\n-----END EC PRIVATE KEY-----\n",
	} {
		if err := ledger.AddKey(name, []byte(key)); err == nil {
			t.Errorf("%s is taken for a key", name)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a secret of three bytes is taken")
		}
	}()
	ledger.AddText("short", "abc")
}
