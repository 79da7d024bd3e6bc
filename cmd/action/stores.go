package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/artifact"
	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/cache"
	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/composite"
	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/configmap"
	"github.com/aks-oneshot/aks-oneshot/internal/cluster"
	"github.com/aks-oneshot/aks-oneshot/internal/config"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/host/github"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
	"github.com/aks-oneshot/aks-oneshot/internal/report"
)

// workflowRun is what the runner says of the run that this is a step of, nil
// outside of a GitHub workflow. err is why it cannot be used, which matters only
// to those who need it.
type workflowRun struct {
	run github.Run
	err error
}

// workflowOf asks the host, which is one of GitHub's or is not.
func workflowOf(h any) *workflowRun {
	g, ok := h.(interface{ Run() (github.Run, error) })
	if !ok {
		return nil
	}
	run, err := g.Run()
	return &workflowRun{run, err}
}

// keepsArtifacts reports whether the service for artifacts is there.
func (w *workflowRun) keepsArtifacts() bool {
	return w != nil && w.err == nil && w.run.KeepsArtifacts()
}

// attempt and url are what records say of who stored them; 0 and "" outside of a
// workflow.
func (w *workflowRun) attempt() int {
	if w == nil {
		return 0
	}
	return w.run.Attempt
}

func (w *workflowRun) url() string {
	if w == nil || w.err != nil {
		return ""
	}
	return w.run.URL()
}

// stores are the places of a run's records.
type stores struct {
	folder    store
	shared    []checkpoint.Shared
	artifacts *artifact.Store
	cluster   *configmap.Store
	key       checkpoint.Key
	expire    sync.Once
}

// tellChoice says which stores there are, whether nobody chose them, and whether
// records are signed: a secret with another name is empty, and a key is not given
// then. That the records of an earlier attempt are looked for elsewhere than where
// they were put must not go unsaid.
func (s *session) tellChoice(c config.Checkpoints) {
	if len(c.Stores) == 0 {
		return
	}
	signed := "signed with checkpoint-key"
	if c.Key == "" {
		signed = "not signed: no checkpoint-key is given"
	}
	chosen := ""
	if c.Auto {
		chosen = " (checkpoint-stores: auto)"
	}
	s.host.Log(fmt.Sprintf("records are kept in %s as well as in the work folder%s, %s", strings.Join(c.Stores, ", "), chosen, signed))
	if !c.Auto {
		return
	}
	w := s.workflow
	if w == nil || c.Has(config.StoreArtifact) {
		return
	}
	if w.err == nil && w.run.Attempt > 1 && w.run.ServerKeepsArtifacts() {
		s.host.Warning("", fmt.Sprintf("there is no service for artifacts on this runner: what an earlier attempt stored as artifacts is not looked at. "+
			"Nothing is missing if attempt %d was in a step like this one; to be sure, give checkpoint-stores, such as %s", w.run.Attempt-1, strings.Join(c.Stores, ",")))
	}
}

// openServices opens the stores that the workflow's services are. They begin to
// look for records at once, while the cluster is still being connected to.
func (s *session) openServices(ctx context.Context, c config.Checkpoints) (*stores, error) {
	opened := &stores{}
	s.tellChoice(c)
	if c.Key != "" {
		key, err := checkpoint.NewKey(c.Key)
		if err != nil {
			return nil, failure.New(failure.ConfigInvalid, "%w", err).At("checkpoint-key")
		}
		opened.key = key
	}
	w := s.workflow
	if c.Auto && w != nil && w.err != nil {
		// Whether an earlier attempt chose artifacts cannot be known then.
		return nil, unknownRun(w.err)
	}
	for _, name := range c.Stores {
		if name == config.StoreCluster {
			continue
		}
		if w.err != nil {
			return nil, named(w.err, "checkpoint-stores")
		}
		place, err := opened.openService(ctx, s, name, c)
		if err != nil {
			return nil, named(err, "checkpoint-stores")
		}
		opened.shared = append(opened.shared, place)
	}
	return opened, nil
}

// unknownRun tells why nobody can say where the records of this run are.
func unknownRun(err error) error {
	if e, ok := err.(*failure.Error); ok { //nolint:errorlint // It is made by the host.
		return e.At("checkpoint-stores").WithFix("%s. Or give checkpoint-stores: without it the store follows from what the runner says", e.Fix)
	}
	return err
}

func (o *stores) openService(ctx context.Context, s *session, name string, c config.Checkpoints) (checkpoint.Shared, error) {
	run := s.workflow.run
	if name == config.StoreCache {
		if run.CacheErr != nil {
			return nil, run.CacheErr
		}
		return cache.Open(cache.Options{
			ResultsURL: run.ResultsURL, CacheURL: run.CacheURL, RuntimeToken: run.RuntimeToken, Mode: run.CacheMode,
			Attempt: run.Attempt, Version: userAgentVersion(), Mask: s.host.Mask, Notify: s.host.Log,
			// Anybody on the branch can write an entry that is newer than ours.
			Believes: func(execution string, d checkpoint.Document) bool {
				_, err := o.key.Open(execution, d, "")
				return err == nil
			},
		})
	}
	if !run.KeepsArtifacts() {
		return nil, noArtifacts(run)
	}
	var err error
	o.artifacts, err = artifact.Open(ctx, artifact.Options{
		ResultsURL: run.ResultsURL, RuntimeToken: run.RuntimeToken,
		APIURL: run.APIURL, Repository: run.Repository, RunID: run.ID, Attempt: run.Attempt, Token: c.GitHubToken,
		RetentionDays: run.RetentionDays, Version: userAgentVersion(), Mask: s.host.Mask, Notify: s.host.Log,
	})
	return o.artifacts, err
}

// noArtifacts says why there is no service for artifacts here. GitHub Enterprise
// Server answers to the address of one, and has none: by the time that a write
// finds out, other stores have the intent.
func noArtifacts(run github.Run) error {
	e := failure.New(failure.ConfigInvalid, "names artifact, and there is no service that keeps artifacts of version 4 on %s", run.ServerURL).
		WithFix("Give cluster, which works anywhere")
	if run.ResultsURL == "" || run.RuntimeToken == "" {
		e.Message = "names artifact, and the runner does not say where artifacts are kept (ACTIONS_RESULTS_URL, ACTIONS_RUNTIME_TOKEN)"
		e.Fix = "The runner sets them for actions and not for scripts: use the action, or give cluster, which works anywhere"
	}
	return e.At("checkpoint-stores")
}

// openCluster opens the store in the cluster, if it is wanted, and puts it where
// the user named it.
func (o *stores) openCluster(ctx context.Context, s *session, c config.Config, client *cluster.Client) error {
	at := slices.Index(c.Checkpoints.Stores, config.StoreCluster)
	if at < 0 {
		return nil
	}
	q := c.Plan.Request
	var err error
	o.cluster, err = configmap.Open(ctx, configmap.Options{
		API: client, Namespace: q.Namespace.String(), CronJob: q.Template.String(), Purpose: q.Purpose.String(),
		SourceCommit: q.Pins.SourceCommit.String(), Retention: c.Checkpoints.Retention,
		Attempt: s.workflow.attempt(), Run: s.workflow.url(), Notify: s.host.Log,
	})
	if err != nil {
		return err
	}
	o.shared = slices.Insert(o.shared, at, checkpoint.Shared(o.cluster))
	return nil
}

// arbiter is the store that decides between two runs.
func (o *stores) arbiter() checkpoint.Shared {
	if o.cluster == nil {
		return nil
	}
	return o.cluster
}

// runStored runs the engine over the stores, and returns when the records are
// where they belong, or there is no more time for that.
func (s *session) runStored(ctx context.Context, c config.Config, client *cluster.Client, o *stores) (oneshot.Result, error) {
	limit := time.Duration(1+c.Plan.Successors) * c.Plan.Timeout
	s.begin(running, limit)
	o.key = o.key.For(client.Identity())
	last, cancel := s.lastMoment(ctx, limit)
	defer cancel()
	store := composite.New(composite.Options{
		Folder: o.folder, Owner: o.folder, Shared: o.shared, Arbiter: o.arbiter(), Key: o.key, Cleanup: c.Checkpoints.Cleanup,
		Notify: s.host.Log, Warn: func(text string) { s.host.Warning("", text) },
	})
	// Also when a bug ends the run: what was recorded is to be found.
	defer func() { s.finish(last, o, store) }()
	engine := oneshot.Engine{Cluster: client, Store: store, Notify: func(e oneshot.Event) {
		if e.Kind == oneshot.EventWaiting && o.cluster != nil {
			o.expire.Do(func() { go s.expire(ctx, o.cluster) })
		}
		s.event(e)
	}}
	result, err := engine.Run(ctx, c.Plan)
	// From here on it is known what became of the Job, whatever holds up the rest.
	s.know(func(r *report.Report) { r.Result, r.Err = result, err })
	return result, err
}

const (
	// storingStopped is when a run that was told to stop has waited long enough: a
	// runner kills it some seconds later, and the records are to be safe by then.
	storingStopped = 4500 * time.Millisecond
	// storingLate is how far past a run's time its stores may be waited for.
	storingLate = 6 * time.Second
)

// lastMoment returns a context that ends when records can no longer be waited
// for: a while after the run was told to stop, or after its time.
func (s *session) lastMoment(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit+storingLate)
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(storingStopped, cancel)
		context.AfterFunc(last, func() { timer.Stop() })
	})
	return last, func() { stop(); cancel() }
}

// finish waits for the stores and keeps what became of the records.
func (s *session) finish(last context.Context, o *stores, store *composite.Store) {
	s.begin(finishing, limits.storing)
	ctx, cancel := context.WithTimeout(last, limits.storing)
	defer cancel()
	status := store.Finish(ctx)
	s.begin(finishing, 0)
	s.know(func(r *report.Report) {
		r.Facts.Stored = status.Recorded && len(status.Missing) == 0
		if status.Resumed != nil {
			r.Facts.ResumedFrom = status.Resumed.String()
		}
		for _, m := range status.Missing {
			r.Facts.Missing = append(r.Facts.Missing, m.String())
		}
		if o.artifacts != nil {
			for _, a := range o.artifacts.Artifacts() {
				r.Facts.Artifacts = append(r.Facts.Artifacts, report.Artifact{Name: a.Name, ID: a.ID})
			}
		}
	})
}

// expire removes what the cluster has kept for long enough. Nobody waits for it.
func (s *session) expire(ctx context.Context, store *configmap.Store) {
	defer func() {
		if p := recover(); p != nil {
			s.host.Log(fmt.Sprintf("panic while removing expired records: %v\n%s", p, debug.Stack()))
		}
	}()
	store.Expire(ctx)
}
