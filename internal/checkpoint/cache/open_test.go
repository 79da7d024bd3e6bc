package cache

import (
	"strings"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	scopes := func(ac string) string { return tokenWith(map[string]any{"ac": ac}) }
	tests := []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"no token", func(o *Options) { o.RuntimeToken = "" }, "ACTIONS_RUNTIME_TOKEN is not set. " + fixRunner},
		{"a token with a line end", func(o *Options) { o.RuntimeToken += "\n" }, "ACTIONS_RUNTIME_TOKEN holds a character that no token has. " + fixRunner},
		{"no JWT", func(o *Options) { o.RuntimeToken = "ghs_secretsecretsecret" }, "ACTIONS_RUNTIME_TOKEN is no token for it: it is no JWT. " + fixRunner},
		{"no JSON in it", func(o *Options) { o.RuntimeToken = "c2VjcmV0.c2VjcmV0.c2VjcmV0" }, "ACTIONS_RUNTIME_TOKEN is no token for it: it is no JWT. " + fixRunner},
		{"expired", func(o *Options) { o.RuntimeToken = tokenWith(map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}) },
			"ACTIONS_RUNTIME_TOKEN is no token for it: it has expired. It holds for about 6 hours: run the job again, and check the clock of this runner"},
		{"not yet valid", func(o *Options) { o.RuntimeToken = tokenWith(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}) },
			"ACTIONS_RUNTIME_TOKEN is no token for it: it is not valid yet. Check the clock of this runner"},
		{"without a time", func(o *Options) { o.RuntimeToken = tokenWith(map[string]any{"exp": nil}) },
			"ACTIONS_RUNTIME_TOKEN is no token for it: it does not say for how long it holds. " + fixOther},
		{"without scopes", func(o *Options) { o.RuntimeToken = tokenWith(map[string]any{"ac": nil}) },
			"ACTIONS_RUNTIME_TOKEN is no token for it: it does not say what this job may do with the cache. " + fixOther},
		{"scopes that are none", func(o *Options) { o.RuntimeToken = scopes("secret") },
			"ACTIONS_RUNTIME_TOKEN is no token for it: it does not say what this job may do with the cache. " + fixOther},
		{"an empty list", func(o *Options) { o.RuntimeToken = scopes("[]") }, "by its runtime token this job may not use it. " + fixReadOnly},
		{"only reading", func(o *Options) {
			o.RuntimeToken = scopes(`[{"Scope":"refs/pull/7/merge","Permission":1},{"Scope":"refs/heads/main","Permission":1}]`)
		},
			"by its runtime token this job may only read it. " + fixReadOnly},
		{"mode read", func(o *Options) { o.Mode = "read" }, "this job may only read it (ACTIONS_CACHE_MODE is read). " + fixReadOnly},
		{"mode write-only", func(o *Options) { o.Mode = "write-only" },
			"this job may only write it (ACTIONS_CACHE_MODE is write-only), so that no attempt could read what another stored. " + fixOther},
		{"mode none", func(o *Options) { o.Mode = "none" }, "this job may not use it (ACTIONS_CACHE_MODE is none). " + fixOther},
		{"no service", func(o *Options) { o.ResultsURL, o.CacheURL = "", "" },
			"neither ACTIONS_RESULTS_URL nor ACTIONS_CACHE_URL is set, so that there is no cache here. " + fixOther},
		{"no address", func(o *Options) { o.ResultsURL = "results" }, "ACTIONS_RESULTS_URL is not the address of a service. " + fixRunner},
		{"an address with a user", func(o *Options) { o.ResultsURL = "https://secret:secret@x.example" }, "ACTIONS_RESULTS_URL is not the address of a service. " + fixRunner},
		{"an address with a query", func(o *Options) { o.ResultsURL, o.CacheURL = "", "https://x.example/?secret" }, "ACTIONS_CACHE_URL is not the address of a service. " + fixRunner},
		{"attempt 0", func(o *Options) { o.Attempt = 0 }, "the attempt of the run is 0, and they are counted from 1. " + fixRunner},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := Options{ResultsURL: "https://results.example/", RuntimeToken: token(), Attempt: 1}
			tt.change(&o)
			s, err := Open(o)
			if s != nil || failure.CodeOf(err) != failure.CheckpointStoreFailed {
				t.Fatalf("the store is %v, the error %v", s, err)
			}
			if want := "checkpoint-store-failed: could not use the cache for records: " + tt.want; err.Error() != want {
				t.Errorf("the error is\n%s\nwant\n%s", err, want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("there is a secret in %q", err)
			}
		})
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Options){
		"as it is on GitHub":   func(*Options) {},
		"mode write":           func(o *Options) { o.Mode = "write" },
		"a mode not known yet": func(o *Options) { o.Mode = "read-write" },
		"reading elsewhere": func(o *Options) {
			o.RuntimeToken = tokenWith(map[string]any{"ac": `[{"Scope":"refs/heads/main","Permission":1},{"Scope":"refs/heads/x","Permission":3}]`})
		},
		"a token that names writing alone": func(o *Options) { o.RuntimeToken = tokenWith(map[string]any{"ac": `[{"Scope":"","Permission":2}]`}) },
	} {
		var told told
		o := Options{ResultsURL: "https://results.example/path?", CacheURL: "https://cache.example/aBcD/", RuntimeToken: token(), Attempt: 1, Mask: told.mask}
		change(&o)
		s, err := Open(o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !told.masked[o.RuntimeToken] {
			t.Errorf("%s: the token is not masked", name)
		}
		if got := s.cache.URL; got != "https://results.example" || !s.cache.IsV2 {
			t.Errorf("%s: %s is asked, v2 %t", name, got, s.cache.IsV2)
		}
	}
	s, err := Open(Options{CacheURL: "https://cache.example/aBcD/", RuntimeToken: token(), Attempt: 1})
	if err != nil || s.cache.URL != "https://cache.example/aBcD/" || s.cache.IsV2 {
		t.Errorf("without a results service: %+v, %v", s, err)
	}
}

// A token is masked even where it is refused.
func TestOpenMasksATokenThatIsRefused(t *testing.T) {
	t.Parallel()
	var told told
	if _, err := Open(Options{RuntimeToken: "no-token-at-all", Mask: told.mask}); err == nil || !told.masked["no-token-at-all"] {
		t.Errorf("masked are %v, error %v", told.masked, err)
	}
}
