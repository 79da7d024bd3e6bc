package azure

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// A federated credential that was just made is not known everywhere: it is asked
// again, and told once though two tokens are asked for.
func TestConnectAsksAgainForANewCredential(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Entra.ChangeApp(standin.TenantID, standin.ClientID, func(a *standin.App) { a.NotYet = 4 })
	w.known(w.connect())
	told := w.told()
	if len(told) != 2 || !strings.Contains(told[0], "AADSTS700213") {
		t.Errorf("people are told %q", told)
	}
	w.asked(map[string]int{
		"GET github idtoken": 6, "GET entra openid-configuration": 6, "POST entra token": 6,
		"GET arm orders-aks": 1, "POST arm listClusterUserCredential": 1,
	})
	if repeated := w.Entra.Repeated(); len(repeated) > 0 {
		t.Errorf("id tokens are shown again: %v", repeated)
	}
}

// lost has a request served, and its answer lost on the way.
func lost(_ http.ResponseWriter, r *http.Request, own http.Handler) {
	own.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// What a network or a busy service spoils is repeated: once each. Entra is shown
// an id token of its own each time, since it may have taken the one before.
func TestConnectRepeatsWhatMayPass(t *testing.T) {
	t.Parallel()
	withToken := map[string]int{"GET github idtoken": 1, "GET entra openid-configuration": 1, "POST entra token": 1}
	withDocument := map[string]int{"GET entra openid-configuration": 1}
	list, read := map[string]int{"POST arm listClusterUserCredential": 1}, map[string]int{"GET arm orders-aks": 1}
	for name, c := range map[string]struct {
		arrange func(w *world)
		more    map[string]int
	}{
		"503":          {func(w *world) { w.Entra.On(tokenRequest, 1, standin.HTML(http.StatusServiceUnavailable)) }, withToken},
		"429":          {func(w *world) { w.Entra.On(tokenRequest, 1, w.Entra.Error(90055, "Retry-After", "1")) }, withToken},
		"dropped":      {func(w *world) { w.Entra.On(tokenRequest, 1, standin.Abort()) }, withToken},
		"cut":          {func(w *world) { w.Entra.On(tokenRequest, 1, standin.AbortBody()) }, withToken},
		"lost":         {func(w *world) { w.Entra.On(tokenRequest, 1, lost) }, withToken},
		"document":     {func(w *world) { w.Entra.On(document, 1, standin.HTML(http.StatusBadGateway)) }, withDocument},
		"document cut": {func(w *world) { w.Entra.On(document, 1, standin.AbortBody()) }, withDocument},
		"arm 503":      {func(w *world) { w.ARM.On(listing, 1, standin.HTML(http.StatusServiceUnavailable)) }, list},
		"arm 429": {func(w *world) {
			w.ARM.On(listing, 1, standin.ARMError(http.StatusTooManyRequests, "TooManyRequests", "x", "Retry-After", "1"))
		}, list},
		"arm cut":      {func(w *world) { w.ARM.On(listing, 1, standin.AbortBody()) }, list},
		"arm read cut": {func(w *world) { w.ARM.On(reading, 1, standin.AbortBody()) }, read},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c.arrange(w)
			w.known(w.connect())
			want := usualRequests()
			for path, n := range c.more {
				want[path] += n
			}
			w.asked(want)
			if repeated := w.Entra.Repeated(); len(repeated) > 0 {
				t.Errorf("id tokens are shown again: %v", repeated)
			}
		})
	}
}

// A failure that lasts is asked for as often as it takes, no less and no more: no
// retry is within another.
func TestConnectDoesNotMultiplyRetries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		arrange func(w *world)
		want    map[string]int
	}{
		"Entra is away": {
			func(w *world) { w.Entra.On(document, -1, standin.HTML(http.StatusServiceUnavailable)) },
			map[string]int{"GET github idtoken": 1, "GET entra openid-configuration": 4},
		},
		"Entra issues nothing": {
			func(w *world) { w.Entra.On(tokenRequest, -1, standin.HTML(http.StatusServiceUnavailable)) },
			map[string]int{"GET github idtoken": 4, "GET entra openid-configuration": 4, "POST entra token": 4},
		},
		"Entra wants a long pause": {
			func(w *world) { w.Entra.On(tokenRequest, -1, w.Entra.Error(90055, "Retry-After", "3")) },
			map[string]int{"GET github idtoken": 1, "GET entra openid-configuration": 1, "POST entra token": 1},
		},
		"the token is refused": {
			func(w *world) { w.Entra.On(tokenRequest, -1, w.Entra.Error(53003)) },
			map[string]int{"GET github idtoken": 1, "GET entra openid-configuration": 1, "POST entra token": 1},
		},
		"Azure Resource Manager is away": {
			func(w *world) { w.ARM.On(standin.Any, -1, standin.HTML(http.StatusServiceUnavailable)) },
			map[string]int{
				"GET github idtoken": 1, "GET entra openid-configuration": 1, "POST entra token": 1,
				"GET arm orders-aks": 4, "POST arm listClusterAdminCredential": 4,
			},
		},
		"Azure Resource Manager does not know the token": {
			func(w *world) {
				w.ARM.On(standin.Any, -1, standin.ARMError(http.StatusUnauthorized, "InvalidAuthenticationToken", "The access token is invalid."))
			},
			map[string]int{
				"GET github idtoken": 1, "GET entra openid-configuration": 1, "POST entra token": 1,
				"GET arm orders-aks": 1, "POST arm listClusterAdminCredential": 1,
			},
		},
		"the answer is too large": {
			func(w *world) { w.ARM.On(standin.Any, -1, standin.Huge(8<<20)) },
			map[string]int{
				"GET github idtoken": 1, "GET entra openid-configuration": 1, "POST entra token": 1,
				"GET arm orders-aks": 1, "POST arm listClusterAdminCredential": 1,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			asAdmin(w) // One token alone: when one of two has failed, the other one ends with Connect.
			c.arrange(w)
			if _, err := w.connect(); err == nil {
				t.Fatal("it connects")
			}
			w.asked(c.want)
		})
	}
}

// A service may want a token for what it says (continuous access evaluation).
func TestConnectAnswersAClaimsChallenge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	challenge := `Bearer realm="", error="insufficient_claims", claims="eyJhY2Nlc3NfdG9rZW4iOnt9fQ=="`
	w.ARM.On(listing, 1, standin.Status(http.StatusUnauthorized, "{}", "WWW-Authenticate", challenge))
	w.known(w.connect())
	if n := w.Entra.IssuedFor()[w.ARM.URL]; n != 2 {
		t.Errorf("%d tokens are issued for Azure Resource Manager", n)
	}
}
