package azure

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

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

// What a network or a busy service spoils is repeated: once each.
func TestConnectRepeatsWhatMayPass(t *testing.T) {
	t.Parallel()
	for name, arrange := range map[string]func(w *world){
		"503":      func(w *world) { w.Entra.On(tokenRequest, 1, standin.HTML(http.StatusServiceUnavailable)) },
		"429":      func(w *world) { w.Entra.On(tokenRequest, 1, w.Entra.Error(90055, "Retry-After", "1")) },
		"dropped":  func(w *world) { w.Entra.On(tokenRequest, 1, standin.Abort()) },
		"cut":      func(w *world) { w.Entra.On(tokenRequest, 1, standin.AbortBody()) },
		"document": func(w *world) { w.Entra.On(document, 1, standin.HTML(http.StatusBadGateway)) },
		"arm 503":  func(w *world) { w.ARM.On(listing, 1, standin.HTML(http.StatusServiceUnavailable)) },
		"arm 429": func(w *world) {
			w.ARM.On(listing, 1, standin.ARMError(http.StatusTooManyRequests, "TooManyRequests", "x", "Retry-After", "1"))
		},
		"arm cut":      func(w *world) { w.ARM.On(listing, 1, standin.AbortBody()) },
		"arm read cut": func(w *world) { w.ARM.On(reading, 1, standin.AbortBody()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			arrange(w)
			w.known(w.connect())
			if more := len(w.paths()) - len(asList(usualRequests())); more != 1 {
				t.Errorf("there are %d requests more than usual: %v", more, w.paths())
			}
		})
	}
}

func asList(counts map[string]int) []string {
	var all []string
	for path, n := range counts {
		all = append(all, slices.Repeat([]string{path}, n)...)
	}
	return all
}

// A failure that lasts is asked for as often as it takes, and no more: no retry is
// within another.
func TestConnectDoesNotMultiplyRetries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		arrange func(w *world)
		want    map[string]int
	}{
		"Entra is away": {
			func(w *world) { w.Entra.On(document, -1, standin.HTML(http.StatusServiceUnavailable)) },
			map[string]int{"GET github idtoken": 2, "GET entra openid-configuration": 8},
		},
		"the token is refused": {
			func(w *world) { w.Entra.On(tokenRequest, -1, w.Entra.Error(53003)) },
			map[string]int{"GET github idtoken": 2, "GET entra openid-configuration": 2, "POST entra token": 2},
		},
		"Azure Resource Manager is away": {
			func(w *world) { w.ARM.On(standin.Any, -1, standin.HTML(http.StatusServiceUnavailable)) },
			map[string]int{
				"GET github idtoken": 2, "GET entra openid-configuration": 2, "POST entra token": 2,
				"GET arm orders-aks": 4, "POST arm listClusterUserCredential": 4,
			},
		},
		"Azure Resource Manager does not know the token": {
			func(w *world) {
				w.ARM.On(standin.Any, -1, standin.ARMError(http.StatusUnauthorized, "InvalidAuthenticationToken", "The access token is invalid."))
			},
			map[string]int{
				"GET github idtoken": 2, "GET entra openid-configuration": 2, "POST entra token": 2,
				"GET arm orders-aks": 1, "POST arm listClusterUserCredential": 1,
			},
		},
		"the answer is too large": {
			func(w *world) { w.ARM.On(standin.Any, -1, standin.Huge(8<<20)) },
			map[string]int{
				"GET github idtoken": 2, "GET entra openid-configuration": 2, "POST entra token": 2,
				"GET arm orders-aks": 1, "POST arm listClusterUserCredential": 1,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c.arrange(w)
			if _, err := w.connect(); err == nil {
				t.Fatal("it connects")
			}
			// The token of the API server may still be on its way.
			for range 100 {
				if len(w.paths()) >= len(asList(c.want)) {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			got := map[string]int{}
			for _, path := range w.paths() {
				got[path]++
			}
			for path, n := range got {
				if n > c.want[path] {
					t.Errorf("%s is sent %d times, want %d", path, n, c.want[path])
				}
			}
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
