package e2e

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/bundle"
	"github.com/aks-oneshot/aks-oneshot/internal/cluster"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/kubeconfig"
	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// otherKey is one that the step does not have.
const otherKey = "the key of somebody else, of more than thirty-two bytes"

// forgeries are what somebody puts into the cache who can run a workflow on the
// branch: a terminal record that says that the Job succeeded, right in all but its
// seal.
var forgeries = map[string]struct {
	// seal returns the seal; execution and record are what is forged.
	seal func(s *scene, execution string, record checkpoint.Record) string
	says string
}{
	"without a seal": {func(*scene, string, checkpoint.Record) string { return "" }, "does not say which cluster it is of"},
	"unsigned": {func(s *scene, execution string, record checkpoint.Record) string {
		return s.seal("", execution, record).Seal
	}, "is not signed, and a checkpoint-key is set"},
	"no signature": {func(s *scene, execution string, record checkpoint.Record) string {
		return s.seal("", execution, record).Seal + " hmac-sha256=" + strings.Repeat("00", 32)
	}, "is not signed with this checkpoint-key"},
	"wrong key": {func(s *scene, execution string, record checkpoint.Record) string {
		return s.seal(otherKey, execution, record).Seal
	}, "is not signed with this checkpoint-key"},
	"signed for another execution": {func(s *scene, execution string, record checkpoint.Record) string {
		return s.seal(signingKey, execution+"-2", record).Seal
	}, "is not signed with this checkpoint-key"},
	"signed for another step": {func(s *scene, execution string, record checkpoint.Record) string {
		record.Step = checkpoint.Dispatched
		return s.seal(signingKey, execution, record).Seal
	}, "is not signed with this checkpoint-key"},
	"signed for no cluster": {func(s *scene, execution string, record checkpoint.Record) string {
		return s.sealFor("", signingKey, execution, record).Seal
	}, "does not say which cluster it is of"},
	"signed for another cluster": {func(s *scene, execution string, record checkpoint.Record) string {
		return s.sealFor("another one", signingKey, execution, record).Seal
	}, "is of an execution of the same name on another cluster"},
	"said to be of this cluster": {func(s *scene, execution string, record checkpoint.Record) string {
		_, code, _ := strings.Cut(s.sealFor("another one", signingKey, execution, record).Seal, " ")
		return s.seal("", execution, record).Seal + " " + code
	}, "is not signed with this checkpoint-key"},
}

// seal makes of a record what the action stores with a secret, "" for none.
func (s *scene) seal(secret, execution string, record checkpoint.Record) checkpoint.Document {
	s.t.Helper()
	data, err := os.ReadFile(s.Inputs["kubeconfig"])
	if err != nil {
		s.t.Fatal(err)
	}
	config, err := kubeconfig.Read(data)
	if err != nil {
		s.t.Fatal(err)
	}
	client, err := cluster.New(config)
	if err != nil {
		s.t.Fatal(err)
	}
	defer client.Close()
	return s.sealFor(client.Identity(), secret, execution, record)
}

// sealFor is seal for any cluster, or for none.
func (s *scene) sealFor(identity, secret, execution string, record checkpoint.Record) checkpoint.Document {
	s.t.Helper()
	var key checkpoint.Key
	var err error
	if secret != "" {
		if key, err = checkpoint.NewKey(secret); err != nil {
			s.t.Fatal(err)
		}
	}
	if identity != "" {
		key = key.For(identity)
	}
	d, err := key.Seal(execution, record)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// record returns a record of the work folder.
func (s *scene) record(job string, step checkpoint.Step) checkpoint.Record {
	s.t.Helper()
	records, err := s.Records()
	if err != nil {
		s.t.Fatal(err)
	}
	content, err := contract.ParseObject([]byte(records[job+"."+string(step)+".json"]))
	if err != nil {
		s.t.Fatal(err)
	}
	return checkpoint.Record{Step: step, Content: content}
}

// forge puts a document into the cache, under the key that the action looks for.
func (s *scene) forge(job string, d checkpoint.Document) {
	s.t.Helper()
	data, err := bundle.Pack(job, []checkpoint.Document{d})
	if err != nil {
		s.t.Fatal(err)
	}
	key := "aks-oneshot-" + job + "." + string(d.Step) + ".1"
	if _, err := s.Stores.ForgeCache("refs/heads/main", key, standin.GoActionsCacheVersion(), data); err != nil {
		s.t.Fatal(err)
	}
}

// ran runs the execution once with its records in the work folder alone, removes
// the Job, and has the next run be one on another machine, which knows of nothing.
// It returns the Job's name and its terminal record.
func (s *scene) ran() (job string, terminal checkpoint.Record) {
	s.t.Helper()
	stores, key := s.Inputs["checkpoint-stores"], s.Inputs["checkpoint-key"]
	s.Inputs["checkpoint-stores"] = "none"
	delete(s.Inputs, "checkpoint-key")
	e := s.run()
	s.expect(e, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
	job = e.Outputs["job-name"]
	terminal = s.record(job, checkpoint.Terminal)
	s.remove(harness.JobPath(job), "Background")
	s.gone(job)
	s.rerun(standin.RerunAll)
	s.Inputs["checkpoint-stores"] = stores
	if key != "" {
		s.Inputs["checkpoint-key"] = key
	}
	return job, terminal
}

// TestStoresForgedRecordInTheCache: with a key, a record that is not signed with it is
// refused. Nothing of it is believed, and nothing is dispatched.
func TestStoresForgedRecordInTheCache(t *testing.T) {
	t.Parallel()
	for name, forged := range forgeries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := keep(t, harness.Template{}, "cache").signed()
			job, terminal := s.ran()
			d := s.seal(signingKey, job, terminal)
			d.Seal = forged.seal(s, job, terminal)
			s.forge(job, d)
			e := s.run()
			s.expect(e, want{outcome: "refused", reason: "checkpoint-differs", records: nil, created: 1, says: []string{forged.says, "checkpoint store cache", job}, resumedFrom: is("")})
			for name, value := range map[string]string{"resumed": "false", "terminal-evidence": "", "job-uid": ""} {
				if e.Outputs[name] != value {
					t.Errorf("output %s is %q: something of the forged record was believed", name, e.Outputs[name])
				}
			}
		})
	}
	// What makes the difference is the signature.
	t.Run("signed", func(t *testing.T) {
		t.Parallel()
		s := keep(t, harness.Template{}, "cache").signed()
		job, terminal := s.ran()
		s.forge(job, s.seal(signingKey, job, terminal))
		s.expect(s.run(), want{
			outcome: "succeeded", resumed: true, records: []string{"", "prepared", "terminal"}, created: 1,
			says: []string{"nothing is dispatched"}, resumedFrom: is("cache, attempt 1"), stored: is("true"),
		})
	})
}

// TestStoresForgedRecordBesideAGoodOne: a forged record in the cache does not keep a
// run from what another store knows, and is not stored there in its place.
func TestStoresForgedRecordBesideAGoodOne(t *testing.T) {
	t.Parallel()
	s := keep(t, harness.Template{}, "cluster,cache").signed()
	first := s.run()
	s.expect(first, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1, stored: is("true")})
	job := first.Outputs["job-name"]
	terminal := s.record(job, checkpoint.Terminal)
	terminal.Content = maps.Clone(terminal.Content)
	terminal.Content["outcome"] = "failed"
	for _, entry := range s.Stores.CacheEntries() {
		s.Stores.EvictCache(entry.ID)
	}
	s.forge(job, s.seal(otherKey, job, terminal))
	s.rerun(standin.RerunAll)
	s.expect(s.run(), want{
		outcome: "succeeded", resumed: true, records: asReplayed, created: 1,
		says: []string{"nothing is dispatched"}, resumedFrom: is("cluster, attempt 1"), stored: is("true"),
	})
}

// TestStoresCacheAloneNeedsAKey: a forged record cannot be met without a key, since
// that cannot be had, whatever is beside the cache.
func TestStoresCacheAloneNeedsAKey(t *testing.T) {
	t.Parallel()
	for name, stores := range map[string]string{"alone": "cache", "beside artifacts": "artifact,cache", "beside the cluster": "cluster,cache"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := keep(t, harness.Template{}, stores)
			e := s.run()
			s.expect(e, want{outcome: "invalid", reason: "config-invalid", says: []string{"checkpoint-stores", "names cache, and no checkpoint-key", "checkpoint-key"}})
			if n := s.Stores.Count(); n != 0 || len(s.requests()) != 0 {
				t.Errorf("%d requests went to GitHub and %d to the cluster", n, len(s.requests()))
			}
			s.Sign("too short a key")
			s.expect(s.run(), want{outcome: "invalid", reason: "config-invalid", says: []string{"checkpoint-key", "at least 32"}})
		})
	}
}
