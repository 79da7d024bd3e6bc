package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

// races is how many executions two machines race for.
const races = 50

// TestStoresRaceOfTwoMachines: two runs on different machines begin the same
// execution at the same time. The API server takes one of their ConfigMaps, and
// so decides; there is one Job each time, and both runs see it succeed.
//
// In every other race both have seen that nothing is recorded, and have sent their
// creates, before the API server gets to see either of them.
func TestStoresRaceOfTwoMachines(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	s.inCluster = true
	s.Inputs["checkpoint-stores"] = "cluster"
	var tally raceTally
	turns := make(chan struct{}, 3)
	var all sync.WaitGroup
	for i := range races {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			s.race(i, i%2 == 1, &tally)
		})
	}
	all.Wait()
	s.expectCreated(races)
	if created := s.countCreated(t.Context()); !maps.Equal(created, tally.jobs) {
		t.Errorf("the Jobs that were created are not those that the runs tell of:\n%v\n%v", created, tally.jobs)
	}
	figure("races of two machines", "%d races, %d Jobs, %d runs succeeded, %d of them by the other one's Job, %d creates of Jobs sent",
		races, len(tally.jobs), tally.succeeded.Load(), tally.adopted.Load(), s.attempts())
}

// raceTally is what all races came to.
type raceTally struct {
	succeeded, adopted atomic.Int64

	mu   sync.Mutex
	jobs map[string]string // names by uid
}

// machine is the same execution on a machine of its own.
func (s *scene) machine(name string) *scene {
	one := s.twin()
	one.Inputs["work-dir"] = filepath.Join(s.Dir, "records-"+name)
	one.inCluster = s.inCluster
	return one
}

// race has two machines begin an execution, at the same moment when together.
func (s *scene) race(number int, together bool, tally *raceTally) {
	pair := []*scene{s.machine(fmt.Sprintf("%d-a", number)), s.machine(fmt.Sprintf("%d-b", number))}
	var release chan struct{}
	var held []*harness.Rule
	if together {
		release = make(chan struct{})
		p, err := harness.NewProxy(s.World.Cluster)
		if err != nil {
			s.t.Error(err)
			return
		}
		defer p.Close()
		for range pair {
			held = append(held, p.On(harness.IsConfigMapCreate, 1, harness.Hold(release)))
		}
		kubeconfig := filepath.Join(s.Dir, "kubeconfig-"+strconv.Itoa(number))
		user := map[string]any{"token": s.Token}
		if err := os.WriteFile(kubeconfig, harness.Kubeconfig(p.URL, p.CA, user), 0o600); err != nil {
			s.t.Error(err)
			return
		}
		for _, one := range pair {
			one.Inputs["kubeconfig"] = kubeconfig
		}
	}
	ends := make([]harness.Ended, len(pair))
	var both sync.WaitGroup
	for i, one := range pair {
		one.args("print race " + strconv.Itoa(number))
		both.Go(func() {
			var err error
			if ends[i], err = one.Run(s.t.Context()); err != nil {
				s.t.Error(err)
			}
		})
	}
	ended := make(chan struct{})
	go func() { both.Wait(); close(ended) }()
	for _, rule := range held {
		select {
		case <-rule.Seen:
		case <-ended: // One did not get that far, which is told below.
		case <-time.After(time.Minute):
		}
	}
	if together {
		close(release)
	}
	<-ended
	s.raced(number, pair, ends, tally)
}

// raced checks what became of a race.
func (s *scene) raced(number int, pair []*scene, ends []harness.Ended, tally *raceTally) {
	dispatched := 0
	for _, e := range ends {
		if e.Outputs["dispatched"] == "true" {
			dispatched++
		}
		if s.ended(e); e.Outputs["outcome"] == "succeeded" && e.Outputs["checkpoints-stored"] == "true" {
			tally.succeeded.Add(1)
		} else {
			s.t.Errorf("race %d: a run did not succeed, or its records are not stored:\n%s", number, e.Log())
		}
	}
	job, uid := ends[0].Outputs["job-name"], ends[0].Outputs["job-uid"]
	if dispatched != 1 || job == "" || uid == "" || ends[1].Outputs["job-name"] != job || ends[1].Outputs["job-uid"] != uid {
		s.t.Errorf("race %d: %d runs say that they created the Job; %s %s and %s %s", number, dispatched, job, uid,
			ends[1].Outputs["job-name"], ends[1].Outputs["job-uid"])
		return
	}
	tally.adopted.Add(int64(len(ends) - dispatched))
	tally.mu.Lock()
	defer tally.mu.Unlock()
	if tally.jobs == nil {
		tally.jobs = map[string]string{}
	}
	tally.jobs[uid] = job
	s.expectSameRecords(job, pair)
}

// expectSameRecords compares what the machines and the cluster have of a Job.
func (s *scene) expectSameRecords(job string, pair []*scene) {
	object, err := s.World.API.Get(s.t.Context(), harness.ConfigMapPath(job))
	if err != nil {
		s.t.Error(err)
		return
	}
	data, _ := harness.Member(object, "data").(map[string]any)
	var folders []map[string]string
	for _, one := range pair {
		records, err := one.Records()
		if err != nil {
			s.t.Error(err)
		}
		folders = append(folders, records)
	}
	if !maps.Equal(folders[0], folders[1]) {
		s.t.Errorf("the work folders of %s differ: %q and %q", job, slices.Sorted(maps.Keys(folders[0])), slices.Sorted(maps.Keys(folders[1])))
	}
	for _, step := range asTerminal[1:] {
		if have := data[step+".json"]; have == nil || have != folders[0][job+"."+step+".json"] {
			s.t.Errorf("the %s record of %s is not the same in the cluster and in the work folder:\n%v\n%s", step, job, have, folders[0][job+"."+step+".json"])
		}
	}
}
