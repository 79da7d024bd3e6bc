package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/cluster"
)

// Stage is a world of its own for a program that shows or measures something:
// the action, built; a cluster; a temporary folder.
type Stage struct {
	*World
	// Program is the built action.
	Program string

	folder string
	trust  *Trust
}

// endTime is how long the end of a stage may take.
const endTime = time.Minute

// NewStage builds the action, stripped as a release is, and starts a cluster.
// Log is told what is going on, a line at a time. When ctx ends, or something
// goes wrong, nothing remains.
func NewStage(ctx context.Context, log io.Writer) (stage *Stage, err error) {
	s := &Stage{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close(ctx))
		}
	}()
	if s.folder, err = os.MkdirTemp("", "aks-oneshot-"); err != nil {
		return nil, err
	}
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(log, format+"\n", args...) }
	say("building the action")
	if s.Program, err = Build(ctx, s.folder, BuildOptions{Strip: true}); err != nil {
		return nil, err
	}
	say("starting a Kubernetes control plane on this machine")
	if s.trust, err = NewTrust(s.folder); err != nil {
		return nil, err
	}
	c, err := cluster.Start(ctx, cluster.Options{Log: log, APIServerArgs: s.trust.APIServerArgs()})
	if err != nil {
		return nil, err
	}
	s.World = &World{Cluster: c}
	world, err := NewWorld(ctx, c, s.Program, s.folder)
	if err != nil {
		return nil, err
	}
	s.World = world
	return s, nil
}

// Close ends the cluster and removes the folder. It does so also when ctx has
// ended. The error tells too when a part of the cluster ended by itself.
func (s *Stage) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	var errs []error
	if s.World != nil {
		errs = append(errs, s.Cluster.Fault(), s.Cluster.Stop(ctx))
	}
	if s.trust != nil {
		errs = append(errs, s.trust.Close())
	}
	if s.folder != "" {
		errs = append(errs, os.RemoveAll(s.folder))
	}
	return errors.Join(errs...)
}
