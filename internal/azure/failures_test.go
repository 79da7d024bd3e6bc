package azure

import (
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

var update = flag.Bool("update", false, "rewrite the golden files under testdata")

// failing is a way in which Connect fails. Its name is that of a golden file,
// which holds all that people see of it.
type failing struct {
	name    string
	arrange func(w *world)
}

// TestFailures has the stand-ins fail in every way that people meet, and compares
// what is told. Nothing of what is told may hold a secret.
func TestFailures(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, group := range [][]failing{entraFailures, networkFailures, managerFailures, clusterFailures, pipelinesFailures, machineFailures} {
		for _, f := range group {
			if known[f.name] {
				t.Errorf("%s is there twice", f.name)
			}
			known[f.name] = true
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				f.arrange(w)
				c, err := w.connect()
				if err == nil {
					t.Fatalf("it connects: %+v", c)
				}
				w.scan(err)
				golden(t, f.name, w.transcript(err))
			})
		}
	}
	files, err := filepath.Glob(filepath.Join("testdata", "failures", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".txt"); !known[name] && !processFailures[name] {
			t.Errorf("%s belongs to no failure", file)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "failures", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (run go test ./internal/azure -update to write it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", file, diff)
	}
}

var (
	correlation = regexp.MustCompile(`correlation id [0-9a-f-]{36}`)
	timestamp   = regexp.MustCompile(`\d{4}-\d{2}-\d{2}T[0-9:.]+Z|\d+/\d+/\d{4} \d+:\d+:\d+ [AP]M`)
	loopback    = regexp.MustCompile(`127\.0\.0\.1:\d+`)
)

// transcript is what people see of a failure, without what differs from run to
// run.
func (w *world) transcript(err error) string {
	var b strings.Builder
	coded, ok := errorsAsFailure(err)
	if !ok {
		w.t.Fatalf("the error has no code: %v", err)
	}
	fmt.Fprintf(&b, "code: %s\n", coded.Code)
	if coded.Field != "" {
		fmt.Fprintf(&b, "field: %s\n", coded.Field)
	}
	fmt.Fprintf(&b, "text: %s\n", coded.Text())
	if n := len(coded.Text()); n > longest {
		w.t.Errorf("the message has %d characters, which nobody reads", n)
	}
	for _, line := range w.told() {
		fmt.Fprintf(&b, "told: %s\n", line)
	}
	text := b.String()
	for name, address := range map[string]string{
		"ENTRA": w.Entra.URL, "ARM": w.ARM.URL, "GITHUB": w.GitHub.URL, "PIPELINES": w.Pipelines.URL, "API": w.api.URL,
	} {
		text = strings.ReplaceAll(text, hostOf(address), name)
	}
	text = correlation.ReplaceAllString(text, "correlation id CORRELATION")
	text = timestamp.ReplaceAllString(text, "TIME")
	return loopback.ReplaceAllString(text, "ADDRESS")
}

// longest is the most that a message may have, with the names and ids of the
// stand-ins and one command.
const longest = 1050

func errorsAsFailure(err error) (*failure.Error, bool) {
	f, ok := err.(*failure.Error) //nolint:errorlint // What Connect returns is meant.
	if !ok {
		if token, isToken := err.(*tokenError); isToken { //nolint:errorlint // As above.
			return token.failure, true
		}
	}
	return f, ok
}

// by goes through a proxy.
func by(address string) func(*http.Request) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	return http.ProxyURL(u)
}
