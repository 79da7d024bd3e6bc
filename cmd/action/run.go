package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/aks-oneshot/aks-oneshot/internal/azure"
	"github.com/aks-oneshot/aks-oneshot/internal/cluster"
	"github.com/aks-oneshot/aks-oneshot/internal/config"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/host"
	"github.com/aks-oneshot/aks-oneshot/internal/host/github"
	"github.com/aks-oneshot/aks-oneshot/internal/host/terminal"
	"github.com/aks-oneshot/aks-oneshot/internal/kubeconfig"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
	"github.com/aks-oneshot/aks-oneshot/internal/private"
	"github.com/aks-oneshot/aks-oneshot/internal/report"
)

// maxKubeconfig is the reference's bound, in bytes.
const maxKubeconfig = 1 << 20

// session is one run of the action: what it is told, and what there is to tell.
type session struct {
	host   host.Host
	source config.Source
	// because is why source has the Auth that it has.
	because string
	// workflow is the run that this is a step of, nil outside of a GitHub workflow.
	workflow *workflowRun

	// due ends the run when it is held up.
	due *time.Timer

	// mu guards what follows, which is told by whoever comes first: the run when
	// it ends, or who gives it up.
	mu sync.Mutex
	// user is whom the API server knows this run as, when Entra says so.
	user   string
	report report.Report
	stage  stage
	ended  bool
}

// run does what the inputs say, tells what became of it, and returns the exit
// status.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	out, log := host.NewWriter(stdout), host.NewWriter(stderr)
	h := hostOf(getenv, out, log)
	auth, because := defaultAuth(getenv)
	w := workflowOf(h)
	s := &session{
		host: h,
		source: config.Source{
			Args: args, Lookup: h.Input, Getenv: getenv, UID: os.Geteuid(), Auth: string(auth),
			Workflow: w != nil, Artifacts: w.keepsArtifacts(),
		},
		because:  because,
		workflow: w,
		report:   report.Report{Started: time.Now(), Hide: h.Hide},
	}
	status := s.run(ctx, stderr)
	flush(stderr, out, log)
	return status
}

func hostOf(getenv func(string) string, stdout, stderr io.Writer) host.Host {
	if host.Detect(getenv) == host.GitHub {
		return github.New(stdout, getenv)
	}
	return terminal.New(stdout, stderr, getenv)
}

// guarded is execute, and turns a panic into what it means to the user: a bug,
// after which nobody knows what was done.
func (s *session) guarded(ctx context.Context) (result oneshot.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.host.Log(string(debug.Stack()))
			result = oneshot.Result{Outcome: oneshot.Unknown}
			err = fmt.Errorf("a bug in aks-oneshot ended the run (panic: %v). "+
				"Please report it with the stack trace in the log; a run again resumes from the records", p)
		}
	}()
	return s.execute(ctx)
}

// execute is the flow of a run: inputs, credential, records, engine.
func (s *session) execute(ctx context.Context) (oneshot.Result, error) {
	s.begin(reading, 0)
	maskProxies(s.host, s.source.Getenv)
	c, err := config.Read(s.source)
	for _, secret := range []string{c.Checkpoints.Key, c.Checkpoints.GitHubToken} {
		if secret != "" {
			s.host.Mask(secret)
		}
	}
	s.know(func(r *report.Report) { r.Facts = facts(c) })
	// Begun before the cluster is connected to: the stores look for records in the
	// meantime.
	var places *stores
	if err == nil {
		places, err = s.openServices(ctx, c.Checkpoints)
	}
	client, err := s.connect(ctx, c, err)
	if err != nil {
		return early(err)
	}
	defer client.Close()
	s.begin(opening, 0)
	if places.folder, err = openStore(c.WorkDir); err != nil {
		return early(named(err, "work-dir"))
	}
	defer func() {
		if closeErr := places.folder.Close(); closeErr != nil {
			// Each record was durable before it was acted on.
			s.host.Warning("", closeErr.Error())
		}
	}()
	if err := places.openCluster(ctx, s, c, client); err != nil {
		return early(err)
	}
	return s.runStored(ctx, c, client, places)
}

// connect returns a client for the cluster, by the way in that the inputs chose.
// To the cluster nothing is sent yet, and to Azure only when nothing is wrong
// with the inputs.
func (s *session) connect(ctx context.Context, c config.Config, inputs error) (*cluster.Client, error) {
	if c.Azure != nil && inputs == nil {
		s.begin(connecting, azure.Limit)
		return s.connectAzure(ctx, c.Azure)
	}
	// The kubeconfig is read also with inputs that are wrong, as when it is given
	// beside those of Azure: the others are told, and a secret among them is known
	// for one only by the kubeconfig.
	cfg, err := readKubeconfig(c.Kubeconfig)
	if err != nil || cfg == nil {
		return nil, cmp.Or(inputs, err)
	}
	client, err := s.client(cfg)
	return client, cmp.Or(inputs, err)
}

// client returns a client for a cluster. From here on no secret of the connection
// comes out of the host.
func (s *session) client(cfg *rest.Config, options ...cluster.Option) (*cluster.Client, error) {
	if server, err := url.Parse(cfg.Host); err == nil {
		s.know(func(r *report.Report) { r.Facts.Cluster = server.Host })
	}
	return cluster.New(cfg, append(options, cluster.WithVersion(userAgentVersion()),
		cluster.WithMask(s.host.Mask), cluster.WithNotify(s.host.Log))...)
}

// userAgentVersion is the version as it is told to servers.
func userAgentVersion() string {
	v, _ := buildVersion(debug.ReadBuildInfo())
	return strings.Trim(v, "()")
}

// readKubeconfig returns the connection that a kubeconfig describes, or nil when
// none is given, which the inputs' error tells.
func readKubeconfig(k config.Kubeconfig) (*rest.Config, error) {
	if k.Input == "" {
		return nil, nil
	}
	data := k.Content
	if k.Path != "" {
		var err error
		if data, err = private.ReadFile(k.Path, maxKubeconfig); err != nil {
			return nil, kubeconfigFailure(k, err)
		}
	}
	cfg, err := kubeconfig.Read(data)
	return cfg, ofInput(err, k.Input)
}

// ofInput has an error about a kubeconfig as a whole name the input that it is
// from, of which there are three.
func ofInput(err error, input string) error {
	if e, ok := errors.AsType[*failure.Error](err); ok && e.Field == "kubeconfig" {
		return e.At(input)
	}
	return err
}

// kubeconfigFailure tells why a kubeconfig could not be read.
func kubeconfigFailure(k config.Kubeconfig, err error) error {
	e := failure.New(failure.ConfigInvalid, "%s could not be read: %w", k.Path, err).At(k.Input)
	if v, ok := errors.AsType[*private.Violation](err); ok {
		e = failure.New(failure.ConfigInvalid, "%w", v).At(k.Input).WithFix("%s", v.Fix)
	}
	return e
}

// named has an error name the input at fault, unless it names something more
// exact.
func named(err error, input string) error {
	if e, ok := errors.AsType[*failure.Error](err); ok && e.Field == "" {
		return e.At(input)
	}
	return err
}

// early returns what an error means that came before the engine was asked:
// nothing was dispatched by this run.
func early(err error) (oneshot.Result, error) {
	outcome := oneshot.Refused
	if code := failure.CodeOf(err); code != "" {
		outcome = oneshot.OutcomeOf(code)
	}
	return oneshot.Result{Outcome: outcome}, err
}

// facts are what a report says of the inputs.
func facts(c config.Config) report.Facts {
	q := c.Plan.Request
	f := report.Facts{
		Namespace: q.Namespace.String(), Template: q.Template.String(), Purpose: q.Purpose.String(),
		ServiceAccount: q.ServiceAccount.String(), Container: q.Container.String(), Image: q.Image.String(),
		Args: q.Args, EnvironmentNames: slices.Sorted(maps.Keys(q.Environment)),
		Contract: config.FDAI, CheckpointDir: c.WorkDir, Stores: c.Checkpoints.Stores,
	}
	if !q.Pins.Template.IsZero() {
		f.TemplateDigest, f.BindingDigest = q.Pins.Template.String(), q.Pins.Binding.Digest().String()
	}
	return f
}
