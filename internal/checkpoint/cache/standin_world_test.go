package cache

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// authority signs for the stand-ins of all tests here: what the library uploads goes
// by the authorities of the system, of which there is one set in a process.
var authority *standin.Authority

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if authority, err = standin.NewAuthority("stores"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		dir, err := os.MkdirTemp("", "cache-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		file := filepath.Join(dir, "ca.pem")
		if err := os.WriteFile(file, authority.PEM, 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if err := os.Setenv("SSL_CERT_FILE", file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// github is the stand-in for GitHub's services, over TLS, with signed tokens.
type github struct {
	*standin.Stores
	t      *testing.T
	ledger *standin.Ledger

	mu   sync.Mutex
	said []string
}

func newGitHub(t *testing.T, o standin.StoresOptions) *github {
	t.Helper()
	g := &github{t: t, ledger: standin.NewLedger()}
	var err error
	if g.Stores, err = standin.NewStores(authority, g.ledger, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = g.Close()
		for _, found := range g.ledger.Scan("what was said", []byte(strings.Join(g.said, "\n"))) {
			t.Error(found)
		}
	})
	return g
}

func (g *github) say(text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.said = append(g.said, text)
}

// open opens the store of an attempt, as its environment has it.
func (g *github) open(a standin.Attempt) (*Store, error) {
	env := a.Env()
	attempt, err := strconv.Atoi(env["GITHUB_RUN_ATTEMPT"])
	if err != nil {
		g.t.Fatal(err)
	}
	s, err := Open(Options{
		ResultsURL: env["ACTIONS_RESULTS_URL"], CacheURL: env["ACTIONS_CACHE_URL"], RuntimeToken: env["ACTIONS_RUNTIME_TOKEN"],
		Mode: env["ACTIONS_CACHE_MODE"], Attempt: attempt, Version: "1.2.3", Notify: g.say,
		Network: network.ClientOptions{RootCAs: authority.Pool()},
	})
	if err != nil {
		g.say(err.Error())
		return nil, err
	}
	s.service.pause, s.service.most = time.Millisecond, time.Millisecond
	return s, nil
}

func (g *github) must(a standin.Attempt) *Store {
	g.t.Helper()
	s, err := g.open(a)
	if err != nil {
		g.t.Fatal(err)
	}
	return s
}

// write stores documents, and keeps what is said of it.
func (g *github) write(s *Store, documents ...checkpoint.Document) error {
	err := s.Write(g.t.Context(), job, documents...)
	if err != nil {
		g.say(err.Error())
	}
	return err
}

func (g *github) mustWrite(s *Store, documents ...checkpoint.Document) {
	g.t.Helper()
	if err := g.write(s, documents...); err != nil {
		g.t.Fatal(err)
	}
}
