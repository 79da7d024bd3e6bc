package standin_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

func TestEntraRefuses(t *testing.T) {
	t.Parallel()
	const elsewhere = "00000000-0000-0000-0000-00000000dead"
	// Each case is a good request but for what it changes.
	type request struct {
		tenant string
		form   url.Values
	}
	set := func(name, value string) func(*testing.T, *standin.Azure, *request) {
		return func(_ *testing.T, _ *standin.Azure, r *request) { r.form.Set(name, value) }
	}
	job := func(change func(*standin.Job)) func(*testing.T, *standin.Azure, *request) {
		return func(t *testing.T, a *standin.Azure, r *request) {
			a.GitHub.Change(change)
			r.form.Set("client_assertion", idToken(t, a))
		}
	}
	for name, tt := range map[string]struct {
		change func(*testing.T, *standin.Azure, *request)
		status int
		kind   string
		code   int
		says   []string
	}{
		"tenant":            {func(_ *testing.T, _ *standin.Azure, r *request) { r.tenant = elsewhere }, 400, "invalid_tenant", 90002, []string{"Tenant '" + elsewhere + "' not found"}},
		"application":       {set("client_id", elsewhere), 400, "unauthorized_client", 700016, []string{elsewhere, standin.TenantID}},
		"grant type":        {set("grant_type", "authorization_code"), 400, "unsupported_grant_type", 70003, []string{"authorization_code"}},
		"no grant type":     {set("grant_type", ""), 400, "invalid_request", 900144, []string{"'grant_type'"}},
		"no client":         {set("client_id", ""), 400, "invalid_request", 900144, []string{"'client_id'"}},
		"no scope":          {set("scope", ""), 400, "invalid_request", 900144, []string{"'scope'"}},
		"no assertion":      {set("client_assertion", ""), 401, "invalid_client", 7000218, nil},
		"assertion type":    {set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:saml2-bearer"), 401, "invalid_client", 7000216, []string{"saml2"}},
		"no assertion type": {set("client_assertion_type", ""), 400, "invalid_request", 900144, []string{"'client_assertion_type'"}},
		"secret":            {set("client_secret", "x"), 401, "invalid_client", 7000215, nil},
		"scope of a user":   {set("scope", "https://management.azure.com/user_impersonation"), 400, "invalid_scope", 1002012, nil},
		"two scopes":        {set("scope", "https://management.azure.com/.default "+standin.AKSServerID+"/.default"), 400, "invalid_scope", 1002012, nil},
		"twice":             {func(_ *testing.T, _ *standin.Azure, r *request) { r.form.Add("client_id", standin.ClientID) }, 400, "invalid_request", 90100, []string{"client_id"}},
		"resource":          {set("scope", "https://vault.example/.default"), 400, "invalid_resource", 500011, []string{"https://vault.example", standin.TenantID}},
		"no JWT":            {set("client_assertion", "abc"), 401, "invalid_client", 50027, nil},
		"subject":           {job(func(j *standin.Job) { j.Environment = "staging" }), 401, "invalid_client", 700213, []string{"subject 'repo:acme/orders:environment:staging'"}},
		"subject case":      {job(func(j *standin.Job) { j.Environment = "Production" }), 401, "invalid_client", 7002138, []string{"'repo:acme/orders:environment:Production'", "not with case-sensitive"}},
		"immutable":         {job(func(j *standin.Job) { j.Immutable = true }), 401, "invalid_client", 700213, []string{"'repo:acme@9919/orders@517421:environment:production'"}},
		"issuer":            {job(func(j *standin.Job) { j.Claims = map[string]any{"iss": "https://token.example"} }), 401, "invalid_client", 700211, []string{"issuer 'https://token.example'"}},
		"audience":          {job(func(j *standin.Job) { j.Claims = map[string]any{"aud": "api://else"} }), 401, "invalid_client", 700212, []string{"audience 'api://else'"}},
		"expired":           {job(func(j *standin.Job) { j.Shift = -time.Hour }), 401, "invalid_client", 700024, []string{"valid time range", "expiry time of assertion 20"}},
		"not yet":           {job(func(j *standin.Job) { j.Shift = time.Hour }), 401, "invalid_client", 700024, nil},
		"signature": {func(t *testing.T, _ *standin.Azure, r *request) {
			forged, err := standin.Forge(r.form.Get("client_assertion"))
			if err != nil {
				t.Fatal(err)
			}
			r.form.Set("client_assertion", forged)
		}, 401, "invalid_client", 700027, []string{"signature"}},
		"signed by nobody": {func(_ *testing.T, _ *standin.Azure, r *request) {
			parts := strings.Split(r.form.Get("client_assertion"), ".")
			r.form.Set("client_assertion", "eyJhbGciOiJub25lIn0."+parts[1]+".")
		}, 401, "invalid_client", 700027, nil},
		"issuer's keys": {func(_ *testing.T, a *standin.Azure, _ *request) {
			a.GitHub.On(func(*http.Request) bool { return true }, -1, standin.HTML(503))
		}, 401, "invalid_client", 50166, []string{"503"}},
		"issuer's document": {func(_ *testing.T, a *standin.Azure, _ *request) {
			a.GitHub.On(func(*http.Request) bool { return true }, -1,
				standin.Status(200, `{"issuer": "https://token.example", "jwks_uri": "`+a.GitHub.URL+`/.well-known/jwks"}`))
		}, 401, "invalid_client", 50166, []string{"https://token.example"}},
		"issuer's key": {func(_ *testing.T, a *standin.Azure, _ *request) {
			a.GitHub.On(func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/jwks") }, -1, standin.Status(200, `{"keys": []}`))
		}, 401, "invalid_client", 700027, []string{"no key of this id"}},
		"just created": {func(_ *testing.T, a *standin.Azure, _ *request) {
			a.Entra.ChangeApp(standin.TenantID, standin.ClientID, func(app *standin.App) { app.NotYet = 1 })
		}, 401, "invalid_client", 700213, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := start(t)
			r := &request{standin.TenantID, tokenForm(idToken(t, a))}
			tt.change(t, a, r)
			got := askToken(t, a, r.tenant, r.form)
			object := got.object(t)
			if got.Status != tt.status || object["error"] != tt.kind || !cmp.Equal(object["error_codes"], []any{float64(tt.code)}) {
				t.Fatalf("got %d %s", got.Status, got.Body)
			}
			text, _ := object["error_description"].(string)
			for _, want := range append(tt.says, fmt.Sprintf("AADSTS%d: ", tt.code), " Trace ID: ", " Correlation ID: ", " Timestamp: ") {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in %q", want, text)
				}
			}
			for _, name := range []string{"timestamp", "trace_id", "correlation_id", "error_uri"} {
				if object[name] == nil {
					t.Errorf("no %s", name)
				}
			}
			if leaks := a.Ledger.Scan("the answer", got.Body); leaks != nil {
				t.Error(leaks)
			}
			if n := len(a.Entra.Issued()); n != 0 {
				t.Errorf("%d tokens were issued", n)
			}
		})
	}
}

func TestEntraWantsAForm(t *testing.T) {
	t.Parallel()
	a := start(t)
	c, address, form := client(t, a), a.Entra.AuthorityHost()+standin.TenantID+"/oauth2/v2.0/token", tokenForm(idToken(t, a)).Encode()
	for name, got := range map[string]answer{
		"JSON":     do(t, c, http.MethodPost, address, form, "Content-Type", "application/json"),
		"no type":  do(t, c, http.MethodPost, address, form),
		"a query":  do(t, c, http.MethodPost, address+"?"+form, form, "Content-Type", "application/x-www-form-urlencoded"),
		"rubbish":  do(t, c, http.MethodPost, address, "%zz", "Content-Type", "application/x-www-form-urlencoded"),
		"no POST":  do(t, c, http.MethodGet, address+"?"+form, ""),
		"a suffix": do(t, c, http.MethodPost, address+"/x", form, "Content-Type", "application/x-www-form-urlencoded"),
	} {
		if got.Status < 400 || got.Status > 405 {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
	if n := len(a.Entra.Issued()); n != 0 {
		t.Errorf("%d tokens were issued", n)
	}
}

// The same answers on command, with what the request says.
func TestEntraErrorOnCommand(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]string{
		70021: "Assertion Subject: 'repo:acme/orders:environment:production'", 700213: "subject 'repo:acme/orders:environment:production'",
		700024: "valid time range", 700016: standin.ClientID, 7000229: standin.ClientID, 7000112: "disabled", 53003: "Conditional Access",
		90002: standin.TenantID, 500011: standin.AKSServerID, 90033: "transient", 90055: "too many requests",
	} {
		a := start(t)
		a.Entra.On(standin.PathEnds("/token"), 1, a.Entra.Error(code, "Retry-After", "7"))
		got := askToken(t, a, standin.TenantID, tokenForm(idToken(t, a)))
		if got.Header.Get("Retry-After") != "7" || !strings.Contains(string(got.Body), fmt.Sprintf("AADSTS%d: ", code)) || !strings.Contains(string(got.Body), want) {
			t.Errorf("%d: got %d %s", code, got.Status, got.Body)
		}
		if shown := a.Entra.Assertions(); len(shown) != 1 || shown[0].Code != code {
			t.Errorf("%d: assertions %+v", code, shown)
		}
		if got := askToken(t, a, standin.TenantID, tokenForm(idToken(t, a))); got.Status != http.StatusOK {
			t.Errorf("%d: afterwards %d %s", code, got.Status, got.Body)
		}
	}
}

func TestEntraIssues(t *testing.T) {
	t.Parallel()
	a := start(t)
	a.Entra.Change(func(o *standin.EntraOptions) { o.Lifetime, o.RefreshIn = 20*time.Second, 10*time.Second })
	a.Entra.ChangeApp(standin.TenantID, standin.ClientID, func(app *standin.App) { app.Groups = []string{"g1", "g2"} })
	assertion := idToken(t, a)
	got := askToken(t, a, strings.ToUpper(standin.TenantID), tokenForm(assertion))
	object := got.object(t)
	if got.Status != http.StatusOK || object["token_type"] != "Bearer" || object["expires_in"] != 19.0 || object["refresh_in"] != 10.0 {
		t.Fatalf("got %d, expires_in %v, refresh_in %v", got.Status, object["expires_in"], object["refresh_in"])
	}
	token, _ := object["access_token"].(string)
	claims := claimsOf(t, token)
	for name, want := range map[string]any{
		"aud": standin.AKSServerID, "iss": a.Entra.AuthorityHost() + standin.TenantID + "/", "oid": standin.ObjectID, "sub": standin.ObjectID,
		"appid": standin.ClientID, "tid": standin.TenantID, "idtyp": "app", "ver": "1.0", "groups": []any{"g1", "g2"},
	} {
		if !cmp.Equal(claims[name], want) {
			t.Errorf("%s is %v, want %v", name, claims[name], want)
		}
	}
	access, err := a.Entra.Verify(token, standin.TenantID, standin.AKSServerID)
	if err != nil || access.ObjectID != standin.ObjectID {
		t.Errorf("%+v, %v", access, err)
	}
	if left := time.Until(access.Expires); left > 20*time.Second || left < 10*time.Second {
		t.Errorf("it lives for another %s", left)
	}
	if a.Entra.Repeated() != nil {
		t.Error("nothing was shown twice yet")
	}
	askToken(t, a, standin.TenantID, tokenForm(assertion))
	if got := a.Entra.Repeated(); !cmp.Equal(got, []string{a.GitHub.Issued()[0].ID}) {
		t.Errorf("shown twice: %v", got)
	}
	if got := a.Entra.IssuedFor(); !cmp.Equal(got, map[string]int{standin.AKSServerID: 2}) {
		t.Errorf("issued %v", got)
	}
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	a := start(t)
	const other = "11111111-6d3b-4f0e-9a0c-2f6f1b3e5d10"
	a.Entra.AddTenant(other)
	token := accessToken(t, a, standin.AKSServerID)
	forged, err := standin.Forge(token)
	if err != nil {
		t.Fatal(err)
	}
	a.Entra.Change(func(o *standin.EntraOptions) { o.Lifetime = -time.Minute })
	expired := accessToken(t, a, standin.AKSServerID)
	for name, tt := range map[string]struct {
		token, tenant, audience string
		want                    error
	}{
		"good":      {token, standin.TenantID, standin.AKSServerID + "/", nil},
		"audience":  {token, standin.TenantID, "https://management.azure.com/", standin.ErrAudience},
		"tenant":    {token, other, standin.AKSServerID, standin.ErrTenant},
		"expired":   {expired, standin.TenantID, standin.AKSServerID, standin.ErrExpired},
		"forged":    {forged, standin.TenantID, standin.AKSServerID, standin.ErrInvalid},
		"id token":  {idToken(t, a), standin.TenantID, standin.TokenAudience, standin.ErrInvalid},
		"something": {"abc", standin.TenantID, standin.AKSServerID, standin.ErrInvalid},
	} {
		if _, err := a.Entra.Verify(tt.token, tt.tenant, tt.audience); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}

// MSAL asks for the discovery document first, and fails there.
func TestOfficialClientMeetsAnUnknownTenant(t *testing.T) {
	t.Parallel()
	a := start(t)
	credential, err := azidentity.NewClientSecretCredential("00000000-0000-0000-0000-00000000dead", standin.ClientID, "x",
		&azidentity.ClientSecretCredentialOptions{ClientOptions: options(t, a), DisableInstanceDiscovery: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = credential.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{standin.AKSServerID + "/.default"}})
	if err == nil || !strings.Contains(err.Error(), "AADSTS90002") {
		t.Error(err)
	}
	if requests := a.Requests(); len(requests) != 1 || !strings.HasSuffix(requests[0].Path, "/v2.0/.well-known/openid-configuration") {
		t.Errorf("requests: %v", requests)
	}
}

// A token of a person has neither roles nor an application's type, and ARM knows
// the person by name.
func TestEntraIssuesForAPerson(t *testing.T) {
	t.Parallel()
	a := start(t)
	for name, tt := range map[string]struct {
		person standin.Person
		client string
	}{
		"a person": {standin.Person{UPN: "ada@example.com", ObjectID: "11111111-aaaa-4f0e-9a0c-2f6f1b3e5d10", Groups: []string{"g"}}, "ada@example.com"},
		"a guest":  {standin.Person{ObjectID: "22222222-aaaa-4f0e-9a0c-2f6f1b3e5d10"}, standin.AzureCLIClientID},
	} {
		token, made, err := a.Entra.PersonToken(standin.TenantID, a.ARM.URL, tt.person)
		if err != nil {
			t.Fatal(err)
		}
		claims := claimsOf(t, token)
		if upn, _ := claims["upn"].(string); upn != tt.person.UPN || claims["idtyp"] != "user" || claims["oid"] != tt.person.ObjectID || claims["scp"] == nil || claims["roles"] != nil {
			t.Errorf("%s: %v", name, claims)
		}
		if got, err := a.Entra.Verify(token, standin.TenantID, a.ARM.URL); err != nil || got.UPN != tt.person.UPN || got.ObjectID != tt.person.ObjectID || got.Expires != made.Expires {
			t.Errorf("%s: it is read as %+v, %v", name, got, err)
		}
		path := a.ARM.URL + clusterPath + "?api-version=1"
		got := do(t, client(t, a), http.MethodGet, path, "", "Authorization", "Bearer "+token)
		if got.Status != http.StatusForbidden || !strings.Contains(string(got.Body), "The client '"+tt.client+"' with object id '"+tt.person.ObjectID+"'") {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
		a.ARM.AllowAt(tt.person.ObjectID, a.ClusterID(), standin.RoleReader...)
		if got := do(t, client(t, a), http.MethodGet, path, "", "Authorization", "Bearer "+token); got.Status != http.StatusOK {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
		if leaks := a.Ledger.Scan("a token", []byte(token)); leaks == nil {
			t.Errorf("%s: the ledger does not know the token", name)
		}
	}
}

// An id token counts as shown whatever the request met, also when the answer to it
// was lost.
func TestEntraKeepsWhatWasShown(t *testing.T) {
	t.Parallel()
	a := start(t)
	lost := func(_ http.ResponseWriter, r *http.Request, own http.Handler) {
		own.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
	token := idToken(t, a)
	for _, answer := range []standin.Answer{standin.HTML(http.StatusServiceUnavailable), a.Entra.Error(700213), lost} {
		a.Entra.On(standin.PathEnds("/token"), 1, answer)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.Entra.AuthorityHost()+standin.TenantID+"/oauth2/v2.0/token", strings.NewReader(tokenForm(token).Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if resp, err := client(t, a).Do(r); err == nil {
			_ = resp.Body.Close()
		}
	}
	var codes []int
	for _, shown := range a.Entra.Assertions() {
		codes = append(codes, shown.Code)
	}
	if !slices.Equal(codes, []int{standin.Spoilt, 700213, 0}) || len(a.Entra.Repeated()) != 1 {
		t.Errorf("shown with the codes %v, repeated %v", codes, a.Entra.Repeated())
	}
}
