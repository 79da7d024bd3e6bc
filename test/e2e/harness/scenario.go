package harness

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// Scenario is a reviewed template in the cluster, and a workflow step whose
// inputs are right for it.
type Scenario struct {
	World *World
	// Name is the template's, and the purpose.
	Name string
	// User is whom the action acts as, Token its credential.
	User, Token string
	// Inputs are those of the step; a test changes them as it likes.
	Inputs map[string]string
	// Env is what the step finds in its environment beside what its system sets,
	// and System what runs it.
	Env    map[string]string
	System System
	// Azure is where the cluster is found, nil for one that a kubeconfig names.
	Azure *Azure
	// Stores are GitHub's, nil where the step has none ([Scenario.Keep]).
	Stores *Stores
	// Context is what the review pinned; after a change, WriteContext.
	Context Object
	// Dir is a private folder (mode 0700), with the kubeconfig and the context.
	Dir string

	// machines counts those that steps ran on before this one.
	machines int
}

// Scenario creates the template and its ServiceAccount, and pins them as they
// are now in the cluster.
func (w *World) Scenario(ctx context.Context, t Template) (*Scenario, error) {
	dir := filepath.Join(w.Dir, t.Name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	s := &Scenario{World: w, Name: t.Name, Dir: dir}
	if err := w.API.Create(ctx, core+Namespace+"/serviceaccounts", t.serviceAccount()); err != nil {
		return nil, err
	}
	cronJob, err := w.API.Do(ctx, http.MethodPost, batch+"/cronjobs", t.cronJob(w.Cluster.Workload()))
	if err != nil {
		return nil, err
	}
	if err := s.pin(cronJob); err != nil {
		return nil, err
	}
	if err := s.ActAs(ctx, RunnersNamespace, t.Name); err != nil {
		return nil, err
	}
	s.Inputs = map[string]string{
		"kubeconfig": s.path("kubeconfig"), "context-file": s.path("context.json"), "work-dir": s.path("records"),
		"cronjob": t.Name, "purpose": t.Name, "container": Container, "image": w.Cluster.Workload(),
		"command": Command + "\n", "service-account": t.Name + "-job", "timeout": "2m",
		// What is kept elsewhere than in the work folder is about stores alone.
		"checkpoint-stores": "none",
	}
	return s, nil
}

func (s *Scenario) path(name string) string { return filepath.Join(s.Dir, name) }

// pin writes the context that a review of the live CronJob gives.
func (s *Scenario) pin(cronJob Object) error {
	digest, err := contract.TemplateDigest(cronJob)
	if err != nil {
		return fmt.Errorf("digesting CronJob %s: %w", s.Name, err)
	}
	job := map[string]any{"identity_client_id": ClientID, "identity_resource_id": IdentityID}
	binding, err := contract.NewBinding(job, s.Name, Namespace, TenantID, SubscriptionID)
	if err != nil {
		return fmt.Errorf("binding ServiceAccount %s-job: %w", s.Name, err)
	}
	s.Context = Object{
		"source_commit": SourceCommit, "target_binding": TargetBinding,
		"tenant_id": TenantID, "subscription_id": SubscriptionID,
		"protected_aks_job_template_digests":  map[string]any{s.Name: digest.String()},
		"protected_aks_job_identity_bindings": map[string]any{s.Name: binding.Object()},
	}
	return s.WriteContext()
}

// WriteContext writes the context's file.
func (s *Scenario) WriteContext() error {
	b, err := json.MarshalIndent(s.Context, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(s.path("context.json"), b, 0o600)
}

// ActAs makes a ServiceAccount the one that the action acts as.
func (s *Scenario) ActAs(ctx context.Context, namespace, name string) error {
	token, err := s.World.Token(ctx, namespace, name)
	if err != nil {
		return err
	}
	s.User, s.Token = "system:serviceaccount:"+namespace+":"+name, token
	ca, err := os.ReadFile(s.World.Cluster.CAFile())
	if err != nil {
		return err
	}
	return s.ConnectTo(s.World.Cluster.Server(), ca)
}

// ConnectTo writes the kubeconfig for an address of the API server, and the CA
// that its certificate is checked with, or has Azure hand out one.
func (s *Scenario) ConnectTo(server string, ca []byte) error {
	if s.Azure != nil {
		return s.Azure.ConnectTo(server, ca)
	}
	user := map[string]any{"token": s.Token}
	return os.WriteFile(s.path("kubeconfig"), Kubeconfig(server, ca, user), 0o600)
}

// Kubeconfig returns a kubeconfig; user is what one says of a user.
func Kubeconfig(server string, ca []byte, user map[string]any) []byte {
	b, err := json.MarshalIndent(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "it",
		"contexts": []any{map[string]any{"name": "it", "context": map[string]any{"cluster": "it", "user": "me"}}},
		"clusters": []any{map[string]any{"name": "it", "cluster": map[string]any{
			"server": server, "certificate-authority-data": base64.StdEncoding.EncodeToString(ca),
		}}},
		"users": []any{map[string]any{"name": "me", "user": user}},
	}, "", "  ")
	if err != nil {
		panic(err) // Only texts and maps are in it.
	}
	return b
}

// Start starts the action with the scenario's inputs.
func (s *Scenario) Start(ctx context.Context) (*Run, error) {
	return s.World.Runner.Start(ctx, Step{Inputs: maps.Clone(s.Inputs), Env: s.Env, System: s.System})
}

// Run runs the action to its end.
func (s *Scenario) Run(ctx context.Context) (Ended, error) {
	run, err := s.Start(ctx)
	if err != nil {
		return Ended{}, err
	}
	return run.Wait()
}

// CronJobPath and ServiceAccountPath are where the API server has the template
// and its ServiceAccount.
func (s *Scenario) CronJobPath() string { return batch + "/cronjobs/" + s.Name }

// ServiceAccountPath is the path of the template's ServiceAccount.
func (s *Scenario) ServiceAccountPath() string {
	return core + Namespace + "/serviceaccounts/" + s.Name + "-job"
}

// JobPath is where the API server has a Job.
func JobPath(name string) string { return batch + "/jobs/" + name }

// Jobs lists the Jobs of the scenario, and those of its successors, that are
// there now.
func (s *Scenario) Jobs(ctx context.Context) ([]Object, error) {
	list, err := s.World.API.Get(ctx, batch+"/jobs")
	if err != nil {
		return nil, err
	}
	var found []Object
	items, _ := list["items"].([]any)
	for _, item := range items {
		if job, ok := item.(map[string]any); ok && s.owns(JobName(job)) {
			found = append(found, job)
		}
	}
	return found, nil
}

var afterPurpose = regexp.MustCompile(`^(-retry-[0-9])?-[0-9a-f]{16}$`)

// owns reports whether a Job's name is one of the scenario's.
func (s *Scenario) owns(job string) bool {
	rest, ok := strings.CutPrefix(job, "fdai-"+s.Name)
	return ok && afterPurpose.MatchString(rest)
}

// JobName returns the name of an object.
func JobName(object Object) string {
	name, _ := Member(object, "metadata", "name").(string)
	return name
}

// Records returns the records in the work folder, by their files' names.
func (s *Scenario) Records() (map[string]string, error) {
	found := map[string]string{}
	entries, err := os.ReadDir(s.Inputs["work-dir"])
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return found, nil
	}
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		b, err := os.ReadFile(filepath.Join(s.Inputs["work-dir"], entry.Name()))
		if err != nil {
			return nil, err
		}
		found[entry.Name()] = string(b)
	}
	return found, nil
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(20 * time.Millisecond):
		return nil
	}
}
