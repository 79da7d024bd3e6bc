package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// hold keeps every request to the stand-ins, and to the API server, until it is
// let go on.
type hold struct {
	arrived chan held
	t       *testing.T
}

// held is a request that waits.
type held struct {
	what string
	let  chan struct{}
}

func (s *scene) hold(p *harness.Proxy) *hold {
	h := &hold{arrived: make(chan held, 100), t: s.t}
	wait := func(service string, r *http.Request) {
		what := path.Base(r.URL.Path)
		if service == "blobs" { // whose names are random
			what = r.URL.Query().Get("comp") // of one in parts
			if what == "" {
				what = r.Method
			}
		}
		one := held{service + " " + strings.ToLower(what), make(chan struct{})}
		h.arrived <- one
		select {
		case <-one.let:
		case <-r.Context().Done():
		}
	}
	servers := map[string]*standin.Server{}
	if s.Azure != nil {
		servers["github"], servers["entra"], servers["arm"] = s.Azure.GitHub.Server, s.Azure.Entra.Server, s.Azure.ARM.Server
	}
	if s.Stores != nil {
		servers["results"], servers["rest"], servers["blobs"] = s.Stores.Results, s.Stores.REST, s.Stores.Blobs.Server
	}
	for service, server := range servers {
		server.On(standin.Any, -1, func(w http.ResponseWriter, r *http.Request, own http.Handler) {
			wait(service, r)
			own.ServeHTTP(w, r)
		})
	}
	p.On(harness.IsAny, -1, func(w http.ResponseWriter, r *http.Request, forward http.Handler, _ func()) {
		wait("kubernetes", r)
		forward.ServeHTTP(w, r)
	})
	return h
}

// round waits until these requests have arrived and wait, all at the same time
// and no others, and lets them go on.
func (h *hold) round(want ...string) {
	h.t.Helper()
	slices.Sort(want)
	var all []held
	var have []string
	for len(have) < len(want) {
		select {
		case one := <-h.arrived:
			all = append(all, one)
			have = append(have, one.what)
		case <-time.After(time.Minute):
			h.t.Fatalf("these requests wait: %q, and not all of these have come: %q", have, want)
		}
	}
	slices.Sort(have)
	if fmt.Sprint(have) != fmt.Sprint(want) {
		h.t.Fatalf("these requests came: %q, want %q", have, want)
	}
	for _, one := range all {
		close(one.let)
	}
}

// rest lets everything go on that comes until the run has ended.
func (h *hold) rest(run *running) harness.Ended {
	h.t.Helper()
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case one := <-h.arrived:
				close(one.let)
			case <-stop:
				return
			}
		}
	}()
	defer close(stop)
	return run.wait()
}

// TestOIDCRounds: what a run waits for on its way to the API server. Whatever can
// be asked at the same time is: three answers come one after the other before the
// first request to Kubernetes.
func TestOIDCRounds(t *testing.T) {
	t.Parallel()
	s := signIn(t, harness.Template{})
	p := s.behind()
	h := s.hold(p)
	run := s.start()
	h.round("github idtoken", "github idtoken", "entra openid-configuration", "entra openid-configuration")
	h.round("entra token", "entra token")
	h.round("arm "+standin.ClusterName, "arm listclusterusercredential")
	h.round("kubernetes "+s.Name, "kubernetes "+s.Name+"-job") // CronJob and ServiceAccount
	e := h.rest(run)
	s.expect(e, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
	have := map[string]int{}
	for _, r := range s.Azure.Requests() {
		have[r.Service]++
	}
	if want := documentedRequests(t); fmt.Sprint(have) != fmt.Sprint(want) {
		t.Errorf("the requests to GitHub, Entra and Azure Resource Manager are %v, and docs/credentials.md says %v", have, want)
	}
}

// documentedRequests is how often the documentation says that each is asked.
func documentedRequests(t *testing.T) map[string]int {
	t.Helper()
	root, err := harness.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "credentials.md"))
	if err != nil {
		t.Fatal(err)
	}
	services := map[string]string{"GitHub": "github", "Entra": "entra", "Azure Resource Manager": "arm"}
	requests := map[string]int{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \| [^|]+ \| (\d+)\b[^|]*\|$`).FindAllStringSubmatch(string(page), -1) {
		n, err := strconv.Atoi(row[2])
		if err != nil || services[row[1]] == "" {
			t.Fatalf("%s: %v", row[0], err)
		}
		requests[services[row[1]]] += n
	}
	return requests
}
