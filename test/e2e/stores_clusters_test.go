package e2e

import (
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// otherCluster makes the API server that of another cluster: its authority is another
// one. No Job is there that the first cluster had.
func (s *scene) otherCluster(job string) {
	s.t.Helper()
	authority, err := standin.NewAuthority("another cluster")
	if err != nil {
		s.t.Fatal(err)
	}
	s.behindOf(authority)
	if job != "" {
		s.remove(harness.JobPath(job), "Background")
		s.gone(job)
	}
}

// TestStoresOfTwoClusters: a workflow runs the same template on two clusters, and the
// context's target-binding does not tell them apart. The second one finds the records
// of the first, which say nothing of what happened there: it does not report them as
// its own, and dispatches nothing.
func TestStoresOfTwoClusters(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func(s *scene) (job string){
		"ended": func(s *scene) string {
			e := s.run()
			s.expect(e, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1, stored: is("true")})
			return e.Outputs["job-name"]
		},
		"dispatched": func(s *scene) string {
			s.args("sleep 1s")
			run := s.start()
			job := run.job()
			run.until("waiting for Job")
			s.storedStep(job, "dispatched")
			run.kill()
			s.expectCreated(1)
			return job
		},
		"intended": func(s *scene) string {
			held := s.behind().On(harness.IsCreate, 1, harness.Hold(nil))
			run := s.start()
			run.seen(held)
			run.kill()
			s.expectCreated(0)
			return ""
		},
	} {
		for _, at := range mainSettings() {
			// The ConfigMap of a cluster is in that cluster.
			if at.stores == "cluster" || at.stores == "artifact,cluster" {
				continue
			}
			t.Run(name+"/"+at.name, func(t *testing.T) {
				t.Parallel()
				s := keep(t, harness.Template{}, at.stores)
				if at.signed {
					s.signed()
				}
				job := first(s)
				created, sent := s.created, s.attempts()
				// The next job of the workflow's matrix.
				s.In(s.Stores.NextJob())
				s.elsewhere()
				s.otherCluster(job)
				e := s.run()
				s.expect(e, want{
					outcome: "refused", reason: "checkpoint-differs", created: created, resumedFrom: is(""), stored: is("false"),
					says: []string{"is of an execution of the same name on another cluster", "target-binding"},
				})
				for _, name := range []string{"job-uid", "terminal-evidence"} {
					if e.Outputs[name] != "" {
						t.Errorf("output %s is %q: something of the other cluster's record was believed", name, e.Outputs[name])
					}
				}
				if n := s.attempts() - sent; n != 0 {
					t.Errorf("%d creates were sent", n)
				}
				// What the message advises works.
				s.Context["target_binding"] = strings.Repeat("d", 64)
				if err := s.WriteContext(); err != nil {
					t.Fatal(err)
				}
				s.In(s.Stores.NextJob())
				s.elsewhere()
				s.expect(s.run(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: created + 1, resumedFrom: is(""), stored: is("true")})
			})
		}
	}
}
