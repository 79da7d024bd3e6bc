package harness

import (
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// Stores are what GitHub has for the workflow of a scenario to keep things in, of
// the scenario's own.
type Stores struct {
	*standin.Stores

	ledger *standin.Ledger
	// keys counts the signing keys that steps were given.
	keys int
	dir  string
	ca   string
}

// Keep makes the scenario's step one of a workflow's run on GitHub, in its first
// attempt, with GitHub's services for artifacts and the cache. Where records are
// kept is for the input checkpoint-stores to say. The caller closes what is
// returned.
func (s *Scenario) Keep(o standin.StoresOptions) (*Stores, error) {
	k := &Stores{dir: filepath.Join(s.World.Dir, "stores-of-"+s.Name)}
	if err := os.Mkdir(k.dir, 0o700); err != nil {
		return nil, err
	}
	var authority *standin.Authority
	var err error
	if s.Azure != nil {
		authority, k.ledger, k.ca = s.Azure.Authority, s.Azure.Ledger, s.Azure.CAFile
	} else {
		if authority, err = standin.NewAuthority("stores"); err != nil {
			return nil, err
		}
		k.ledger, k.ca = standin.NewLedger(), filepath.Join(k.dir, "ca.pem")
		if err := os.WriteFile(k.ca, authority.PEM, 0o600); err != nil {
			return nil, err
		}
	}
	if k.Stores, err = standin.NewStores(authority, k.ledger, o); err != nil {
		return nil, err
	}
	s.Stores = k
	s.In(k.Attempt())
	return k, nil
}

// Close ends the stores.
func (k *Stores) Close() error { return errors.Join(k.Stores.Close(), os.RemoveAll(k.dir)) }

// Sign gives the step a key to sign records with.
func (s *Scenario) Sign(key string) {
	s.Inputs["checkpoint-key"] = key
	s.Stores.ledger.AddText("a checkpoint-key", key)
	s.Stores.keys++
}

// In makes the step one of an attempt.
func (s *Scenario) In(a standin.Attempt) {
	env := map[string]string{}
	maps.Copy(env, s.Env)
	maps.Copy(env, a.Env())
	env["SSL_CERT_FILE"] = s.Stores.ca
	s.Env = env
	s.Inputs["github-token"] = a.Token
}

// Rerun makes the step one of the run's next attempt, on another machine.
func (s *Scenario) Rerun(how standin.Rerun) error {
	s.In(s.Stores.NextAttempt(how))
	return s.Move()
}

// Move has the step run on another machine: nothing is left of the work folder.
func (s *Scenario) Move() error {
	old := s.Inputs["work-dir"]
	s.machines++
	s.Inputs["work-dir"] = s.path("records-" + strconv.Itoa(s.machines))
	return os.RemoveAll(old)
}

// ConfigMapPath is where the API server has the records of a Job.
func ConfigMapPath(job string) string {
	return core + Namespace + "/configmaps/aks-oneshot-" + job
}

// IsConfigMap reports whether a request is about ConfigMaps.
func IsConfigMap(r *http.Request) bool { return strings.Contains(r.URL.Path, "/configmaps") }

// IsConfigMapCreate reports whether a request creates a ConfigMap.
func IsConfigMapCreate(r *http.Request) bool {
	return IsConfigMap(r) && r.Method == http.MethodPost
}

// IsConfigMapUpdate reports whether a request changes a ConfigMap.
func IsConfigMapUpdate(r *http.Request) bool {
	return IsConfigMap(r) && r.Method == http.MethodPut
}

// secrets counts what was issued: two tokens for each attempt, a signature in each
// URL of a blob, and the keys.
func (k *Stores) secrets() int {
	return k.keys + 2*k.Attempt().Number + k.Count("CreateArtifact", "GetSignedArtifactURL", "DownloadArtifact", "CreateCacheEntry", "GetCacheEntryDownloadURL")
}
