package azure

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// meeting answers nobody until so many are there.
func meeting(t *testing.T, people int) standin.Answer {
	t.Helper()
	var mu sync.Mutex
	there, all := 0, make(chan struct{})
	return func(rw http.ResponseWriter, r *http.Request, own http.Handler) {
		mu.Lock()
		if there++; there == people {
			close(all)
		}
		mu.Unlock()
		select {
		case <-all:
			own.ServeHTTP(rw, r)
		case <-time.After(30 * time.Second):
			t.Errorf("%s %s is alone", r.Method, r.URL.Path)
			panic(http.ErrAbortHandler)
		case <-r.Context().Done():
		}
	}
}

// What can happen at the same time does: of each pair none is answered before
// both are there.
func TestConnectAsksAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.GitHub.On(standin.PathEnds("/idtoken"), -1, meeting(t, 2))
	w.Entra.On(document, -1, meeting(t, 2))
	w.Entra.On(tokenRequest, -1, meeting(t, 2))
	w.ARM.On(standin.Any, -1, meeting(t, 2))
	w.known(w.connect())
	w.asked(usualRequests())
}

// The id tokens are asked for while Entra is still asked for its addresses.
func TestConnectAsksForIDTokensAhead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	together := meeting(t, 4)
	w.GitHub.On(standin.PathEnds("/idtoken"), -1, together)
	w.Entra.On(document, -1, together)
	w.known(w.connect())
	w.asked(usualRequests())
}

// The API server's token is not waited for where its certificate does.
func TestConnectDoesNotWaitForATokenThatIsNotNeeded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	withCertificate(w)
	scoped := func(r *http.Request) bool {
		return tokenRequest(r) && r.ParseForm() == nil && strings.Contains(r.PostForm.Get("scope"), standin.AKSServerID)
	}
	w.Entra.On(scoped, -1, standin.Hang())
	if _, err := w.connect(); err != nil {
		t.Fatal(err)
	}
}

func TestConnectEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, arrange := range map[string]func(w *world, arrived standin.Answer){
		"at GitHub": func(w *world, a standin.Answer) { w.GitHub.On(standin.Any, -1, a) },
		"at Entra":  func(w *world, a standin.Answer) { w.Entra.On(standin.Any, -1, a) },
		"at ARM":    func(w *world, a standin.Answer) { w.ARM.On(standin.Any, -1, a) },
		"between tries": func(w *world, a standin.Answer) {
			w.options.pace.unknownYet = []time.Duration{time.Hour}
			w.Entra.On(tokenRequest, -1, func(rw http.ResponseWriter, r *http.Request, _ http.Handler) {
				w.Entra.Error(700213)(rw, r, nil)
				go a(rw, r, nil)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			stop := errors.New("told to stop")
			ctx, cancel := context.WithCancelCause(t.Context())
			arrange(w, func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
				cancel(stop)
				<-r.Context().Done()
			})
			_, err := Connect(ctx, w.options)
			if failure.CodeOf(err) != failure.Cancelled || !errors.Is(err, stop) {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}
