package composite

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// place is a shared place in memory that fails when it is told to.
type place struct {
	name string

	mu       sync.Mutex
	copies   map[checkpoint.Step]checkpoint.Document
	complete bool
	local    bool
	// unreadable is why it cannot be read.
	unreadable error
	blind      error
	fail       func(step checkpoint.Step) error
	writes     []checkpoint.Step
	// bad are copies that are there and cannot be read, readErr is why none can.
	bad     map[checkpoint.Step]error
	readErr error
}

func newPlace(name string) *place {
	return &place{name: name, copies: map[checkpoint.Step]checkpoint.Document{}, complete: true}
}

// given returns the steps that it was given so far.
func (p *place) given() []checkpoint.Step {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.writes)
}

func (p *place) Name() string { return p.name }

func (p *place) Read(context.Context, string) (checkpoint.Found, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.readErr != nil {
		return checkpoint.Found{}, p.readErr
	}
	if p.unreadable != nil {
		return checkpoint.Found{}, p.unreadable
	}
	found := checkpoint.Found{Complete: p.complete, Local: p.local, Blind: p.blind}
	for step, err := range p.bad {
		found.Copies = append(found.Copies, checkpoint.Copy{Document: checkpoint.Document{Step: step}, Where: "bad copy of " + string(step), Err: err})
	}
	for _, d := range p.copies {
		found.Copies = append(found.Copies, checkpoint.Copy{Document: d, Where: "copy of " + string(d.Step), Attempt: 1})
	}
	return found, nil
}

func (p *place) Write(_ context.Context, _ string, documents ...checkpoint.Document) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	step := documents[len(documents)-1].Step
	p.writes = append(p.writes, step)
	if p.fail != nil {
		if err := p.fail(step); err != nil {
			return err
		}
	}
	for _, d := range documents {
		if there, ok := p.copies[d.Step]; ok && !bytes.Equal(there.Data, d.Data) {
			return checkpoint.ErrTaken
		}
	}
	for _, d := range documents {
		p.copies[d.Step] = d
	}
	return nil
}

// folder is a work folder in memory.
type folder struct {
	mu      sync.Mutex
	records checkpoint.Records
	fail    func(step checkpoint.Step) error
}

// Heal and Doubt have nothing to do in one place.
func (f *folder) Heal(context.Context, string) error { return nil }
func (f *folder) Doubt(string) error                 { return nil }

func (f *folder) Load(context.Context, string) (checkpoint.Records, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := checkpoint.Records{}
	for step, r := range f.records {
		out[step] = r
	}
	return out, nil
}

func (f *folder) Put(_ context.Context, _ string, r checkpoint.Record) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		if err := f.fail(r.Step); err != nil {
			return err
		}
	}
	if there, ok := f.records[r.Step]; ok && !there.Equal(r) {
		return checkpoint.Differs("x", "differs")
	}
	if f.records == nil {
		f.records = checkpoint.Records{}
	}
	f.records[r.Step] = r
	return nil
}

const job = "fdai-inventory-0123456789abcdef"

// record returns a record that is good as far as a place can tell.
func record(t *testing.T, step checkpoint.Step, say string) checkpoint.Record {
	t.Helper()
	content := contract.Object{"name": job, "state": string(step), "say": say}
	digest, err := contract.DigestOf(content)
	if err != nil {
		t.Fatal(err)
	}
	content["checkpoint_digest"] = digest.String()
	return checkpoint.Record{Step: step, Content: content}
}

func TestAnIntentIsInEveryPlaceOrAnError(t *testing.T) {
	t.Parallel()
	for _, failing := range []string{"", "cluster", "artifact", "folder"} {
		t.Run(failing, func(t *testing.T) {
			t.Parallel()
			broken := func(checkpoint.Step) error { return failure.New(failure.CheckpointStoreFailed, "broken") }
			f, cluster, artifact := &folder{}, newPlace("cluster"), newPlace("artifact")
			switch failing {
			case "cluster":
				cluster.fail = broken
			case "artifact":
				artifact.fail = broken
			case "folder":
				f.fail = broken
			}
			s := New(Options{Folder: f, Shared: []checkpoint.Shared{artifact, cluster}, Arbiter: cluster})
			err := s.Put(t.Context(), job, record(t, checkpoint.Intent, "now"))
			if (err != nil) != (failing != "") {
				t.Errorf("the intent was stored with the error %v", err)
			}
			if failing == "cluster" && len(artifact.writes) != 0 {
				t.Error("the artifact was written although the arbiter had not decided")
			}
			// Where some have it, it is missing in the others.
			missing := map[string]int{"artifact": 2, "folder": 1}[failing]
			status := s.Finish(t.Context())
			for _, m := range status.Missing {
				want := "broken"
				if m.Place == WorkFolder && failing == "artifact" {
					want = "it was not asked"
				}
				if !strings.Contains(m.Err.Error(), want) {
					t.Errorf("%s is missing because of %v", m.Place, m.Err)
				}
			}
			if len(status.Missing) != missing || status.Recorded != (failing == "") {
				t.Errorf("recorded: %v, missing: %v", status.Recorded, status.Missing)
			}
			told := err != nil && strings.Contains(err.Error(), "has the intent already: run again within 59 minutes")
			if told != (missing > 0) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestAnIntentThatComesSecondIsNowhere(t *testing.T) {
	t.Parallel()
	f, cluster, artifact := &folder{}, newPlace("cluster"), newPlace("artifact")
	first := New(Options{Folder: &folder{}, Shared: []checkpoint.Shared{cluster}, Arbiter: cluster})
	if err := first.Put(t.Context(), job, record(t, checkpoint.Intent, "first")); err != nil {
		t.Fatal(err)
	}
	s := New(Options{Folder: f, Shared: []checkpoint.Shared{artifact, cluster}, Arbiter: cluster})
	err := s.Put(t.Context(), job, record(t, checkpoint.Intent, "second"))
	if !errors.Is(err, checkpoint.ErrTaken) || failure.CodeOf(err) != failure.CheckpointDiffers {
		t.Errorf("the second intent's error is %v", err)
	}
	if len(f.records) != 0 || len(artifact.copies) != 0 {
		t.Errorf("the second intent was left in the folder (%v) or the artifacts (%v)", f.records, artifact.copies)
	}
}

func TestWhatComesAfterTheCreateIsStoredInTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		artifact := newPlace("artifact")
		artifact.fail = func(step checkpoint.Step) error {
			if tries++; step == checkpoint.Dispatched && tries < 5 {
				return errors.New("not well")
			}
			return nil
		}
		s := New(Options{Folder: &folder{}, Shared: []checkpoint.Shared{artifact}})
		for _, step := range []checkpoint.Step{checkpoint.Dispatched, checkpoint.Terminal} {
			if err := s.Put(t.Context(), job, record(t, step, "x")); err != nil {
				t.Fatal(err)
			}
		}
		if status := s.Finish(t.Context()); len(status.Missing) != 0 || len(artifact.copies) != 2 {
			t.Errorf("missing %v of %v", status.Missing, artifact.writes)
		}
	})
}

func TestWhatIsNeverTakenIsMissing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		artifact := newPlace("artifact")
		artifact.fail = func(checkpoint.Step) error { return errors.New("not well") }
		s := New(Options{Folder: &folder{}, Shared: []checkpoint.Shared{artifact}})
		if err := s.Put(t.Context(), job, record(t, checkpoint.Terminal, "x")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30e9)
		defer cancel()
		status := s.Finish(ctx)
		if len(status.Missing) != 1 || status.Missing[0].Place != "artifact" || status.Missing[0].Step != checkpoint.Terminal || status.Missing[0].Err == nil {
			t.Errorf("missing: %v", status.Missing)
		}
	})
}

func TestLoad(t *testing.T) {
	t.Parallel()
	unsure := errors.New("nobody looked")
	key, err := checkpoint.NewKey("a key of more than thirty-two bytes")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		folder            []checkpoint.Record
		cluster, artifact func(*place)
		key               checkpoint.Key
		code              failure.Code
		fails             bool
		want              []checkpoint.Step
		healed            []checkpoint.Step
	}{
		"nothing":                           {},
		"the union":                         {folder: []checkpoint.Record{record(t, checkpoint.Intent, "a")}, artifact: has(t, checkpoint.Dispatched, "b"), want: []checkpoint.Step{checkpoint.Intent, checkpoint.Dispatched}, healed: []checkpoint.Step{checkpoint.Intent, checkpoint.Dispatched}},
		"disagreement":                      {artifact: has(t, checkpoint.Intent, "a"), cluster: has(t, checkpoint.Intent, "b"), code: failure.CheckpointDiffers, fails: true},
		"disagreement beside an end":        {artifact: both(has(t, checkpoint.Intent, "a"), has(t, checkpoint.Terminal, "t")), cluster: has(t, checkpoint.Intent, "b"), want: []checkpoint.Step{checkpoint.Intent, checkpoint.Terminal}, healed: []checkpoint.Step{checkpoint.Terminal}},
		"disagreement on the end":           {artifact: has(t, checkpoint.Terminal, "a"), cluster: has(t, checkpoint.Terminal, "b"), code: failure.CheckpointDiffers, fails: true},
		"unsigned with a key":               {artifact: has(t, checkpoint.Terminal, "a"), key: key, code: failure.CheckpointDiffers, fails: true},
		"signed with another key":           {artifact: signed(t, "another key of thirty-two bytes, or more"), key: key, code: failure.CheckpointDiffers, fails: true},
		"nothing, and one could not look":   {artifact: func(p *place) { p.complete, p.blind = false, unsure }, cluster: func(p *place) { p.complete = false }, fails: true},
		"nothing, and one is sure":          {artifact: func(p *place) { p.complete, p.blind = false, unsure }},
		"something, and one could not look": {artifact: func(p *place) { p.complete, p.blind = false, unsure }, cluster: has(t, checkpoint.Intent, "a"), want: []checkpoint.Step{checkpoint.Intent}, healed: []checkpoint.Step{checkpoint.Intent}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, cluster, artifact := &folder{records: checkpoint.Records{}}, newPlace("cluster"), newPlace("artifact")
			for _, r := range test.folder {
				f.records[r.Step] = r
			}
			for p, change := range map[*place]func(*place){cluster: test.cluster, artifact: test.artifact} {
				if change != nil {
					change(p)
				}
			}
			s := New(Options{Folder: f, Shared: []checkpoint.Shared{artifact, cluster}, Arbiter: cluster, Key: test.key})
			records, err := s.loadAndHeal(t, job)
			if (err != nil) != test.fails || failure.CodeOf(err) != test.code {
				t.Fatalf("loaded with the error %v", err)
			}
			if len(records) != len(test.want) && !test.fails {
				t.Errorf("loaded %v, want %v", records, test.want)
			}
			s.Finish(t.Context())
			for _, step := range test.healed {
				_, inCluster := cluster.copies[step]
				_, inArtifact := artifact.copies[step]
				if _, inFolder := f.records[step]; !inFolder || !inCluster || !inArtifact {
					t.Errorf("%s is in the folder %v, the cluster %v, the artifacts %v", step, inFolder, inCluster, inArtifact)
				}
			}
		})
	}
}

// has returns a change that puts a record into a place.
func has(t *testing.T, step checkpoint.Step, say string) func(*place) {
	t.Helper()
	d, err := checkpoint.Key{}.Seal(job, record(t, step, say))
	if err != nil {
		t.Fatal(err)
	}
	return func(p *place) { p.copies[step] = d }
}

// signed returns a change that puts a terminal record into a place that is signed
// with a key.
func signed(t *testing.T, secret string) func(*place) {
	t.Helper()
	key, err := checkpoint.NewKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	d, err := key.Seal(job, record(t, checkpoint.Terminal, "a"))
	if err != nil {
		t.Fatal(err)
	}
	return func(p *place) { p.copies[checkpoint.Terminal] = d }
}

func both(a, b func(*place)) func(*place) { return func(p *place) { a(p); b(p) } }
