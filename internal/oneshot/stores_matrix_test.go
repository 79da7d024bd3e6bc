package oneshot

import (
	"fmt"
	"iter"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The crash matrix over the stores: the engine with the composite store above
// models of the shared places. Every call to a store goes wrong in every way, in
// the first run and in the one that resumes, on machines of their own.

// storeSettings are the places, alone and in pairs.
var storeSettings = []*storeSetting{
	{},
	{kinds: []placeKind{artifactKind}},
	{kinds: []placeKind{forbiddenKind}},
	{kinds: []placeKind{clusterKind}},
	{kinds: []placeKind{cacheKind}, key: true},
	{kinds: []placeKind{artifactKind, clusterKind}},
	{kinds: []placeKind{artifactKind, cacheKind}},
	{kinds: []placeKind{forbiddenKind, clusterKind}},
	{kinds: []placeKind{forbiddenKind, cacheKind}, key: true},
	{kinds: []placeKind{clusterKind, cacheKind}, key: true},
	{kinds: []placeKind{artifactKind, clusterKind}, cleanup: true},
}

const atOnce = 2 * time.Second

// playsIn returns what a schedule with the given places plays in.
func (s *storeSetting) playsIn() (all []setting) {
	everyMachine := matrixRuns
	if len(s.kinds) == 0 {
		everyMachine = 1 // with nothing to share, a new machine knows nothing
	}
	all = []setting{
		{name: "resumed soon", pause: soon, first: succeeds, folders: everyMachine},
		{name: "resumed after the TTL", pause: afterTheTTL, first: succeeds, folders: everyMachine},
		{name: "removed by hand, resumed soon", pause: soon, first: removed, folders: everyMachine},
		{name: "fails, successor succeeds", pause: soon, first: fails, successors: 1, successor: succeeds, folders: everyMachine},
		{name: "fails, successor fails, resumed after the TTL", pause: afterTheTTL, first: fails, successors: 1, successor: fails, folders: everyMachine},
	}
	if len(s.kinds) > 0 {
		all = append(all,
			setting{name: "resumed at once", pause: atOnce, first: succeeds, folders: everyMachine},
			setting{name: "resumed soon on the same machine", pause: soon, first: succeeds},
			setting{name: "resumed after the TTL on the same machine", pause: afterTheTTL, first: succeeds})
		for offset := range 11 {
			for _, slower := range []int{1, 3} {
				all = append(all, setting{
					name:  fmt.Sprintf("two at once, %d calls apart, %d times slower", offset, slower),
					pause: soon, first: succeeds, folders: everyMachine, race: &race{offset, slower},
				})
			}
		}
	}
	for i := range all {
		all[i].stores = s
	}
	return all
}

// faultsAt returns each way in which each of the calls can go wrong. Those that
// read the template are left to the matrix over the engine.
func faultsAt(calls []string) iter.Seq[fault] {
	return func(yield func(fault) bool) {
		for _, at := range calls {
			if strings.HasPrefix(at, "get cronjob") || strings.HasPrefix(at, "get serviceaccount") {
				continue
			}
			for _, kind := range faultKinds(at) {
				if !yield(fault{at, kind}) {
					return
				}
			}
		}
	}
}

// sampling is how many schedules of a kind there is one played of.
type sampling struct{ single, pair, race int }

func samplingOf() sampling {
	switch {
	case os.Getenv("ONESHOT_MATRIX") == "full":
		return sampling{single: 1, pair: 300, race: 11}
	case os.Getenv("ONESHOT_MUTANT") != "":
		return sampling{single: 1, pair: 400, race: 29}
	case raceEnabled:
		return sampling{single: 101, pair: 4000, race: 499}
	}
	return sampling{single: 17, pair: 600, race: 97}
}

// TestStoreMatrix checks the promises over every setting of stores.
func TestStoreMatrix(t *testing.T) {
	sample := samplingOf()
	mutant := os.Getenv("ONESHOT_MUTANT") != ""
	var schedules, violations atomic.Int64
	counts := make([]atomic.Int64, len(storeSettings))
	t.Run("stores", func(t *testing.T) {
		for i, stores := range storeSettings {
			t.Run(stores.String(), func(t *testing.T) {
				t.Parallel()
				check := func(s schedule) []string {
					schedules.Add(1)
					counts[i].Add(1)
					calls, broken := s.play(t)
					for _, violation := range broken {
						if violations.Add(1) <= 20 {
							t.Errorf("violation: %s\n  schedule: %s; %s", violation, stores, s)
						}
					}
					return calls
				}
				single, pair := i, i
				calls := map[string][]string{}
				for _, setting := range stores.playsIn() {
					calls[setting.name] = check(schedule{setting: setting})
				}
				for _, setting := range stores.playsIn() {
					every := sample.single
					if setting.race != nil {
						every = sample.race
					}
					// After a first run that went well, and after one that died with its
					// create, whatever can go wrong in the second does.
					for _, first := range []fault{{}, {"create job#1", crashAfter}} {
						for second := range faultsAt(check(schedule{setting, []fault{first}})) {
							if mutant && violations.Load() > 0 {
								return // found; no need to go on
							}
							if single++; single%every == 0 {
								check(schedule{setting, []fault{first, second}})
							}
						}
					}
					for first := range faultsAt(calls[setting.name]) {
						if mutant && violations.Load() > 0 {
							return
						}
						if single++; single%every != 0 {
							continue
						}
						for second := range faultsAt(check(schedule{setting, []fault{first}})) {
							if pair++; pair%sample.pair == 0 {
								check(schedule{setting, []fault{first, second}})
							}
						}
					}
				}
			})
		}
	})
	for i, stores := range storeSettings {
		t.Logf("stores %s: %d schedules", stores, counts[i].Load())
	}
	t.Logf("crash matrix over the stores: %d schedules, %d violations", schedules.Load(), violations.Load())
	if schedules.Load() < 800 && violations.Load() == 0 {
		t.Errorf("only %d schedules ran", schedules.Load())
	}
}
