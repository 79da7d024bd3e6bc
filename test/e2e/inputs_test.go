package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/cluster"
	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

// expectUntouched fails when a request was sent or a record made.
func (s *scene) expectUntouched() {
	s.t.Helper()
	if sent := s.requests(); len(sent) > 0 {
		s.t.Errorf("requests were sent: %+v", sent)
	}
	if _, err := os.Stat(s.Inputs["work-dir"]); !os.IsNotExist(err) {
		s.t.Errorf("the work folder was touched: %v", err)
	}
}

// TestBadInputs: everything that is wrong is told at once, nothing is read and
// nothing changed.
func TestBadInputs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		inputs map[string]string
		reason string
		says   []string
	}{
		"several": {
			map[string]string{"cronjob": "", "image": "nginx:latest", "timeout": "soon"},
			"config-invalid", []string{"3 things are wrong", "cronjob: is missing", "image: ", "timeout: is \"soon\""},
		},
		"namespace":       {map[string]string{"namespace": "default"}, "config-invalid", []string{"namespace: ", "fdai-runtime"}},
		"purpose":         {map[string]string{"purpose": strings.Repeat("p", 60)}, "config-invalid", []string{"purpose: "}},
		"retries":         {map[string]string{"retries": "1"}, "config-invalid", []string{"retry-env: has 0 environments, but retries is 1"}},
		"secret variable": {map[string]string{"env": "DB_PASSWORD=x"}, "config-invalid", []string{"env: line 1: DB_PASSWORD"}},
		"other template":  {map[string]string{"cronjob": "nobody-pinned-this"}, "context-incomplete", []string{"protected_aks_job_template_digests.nobody-pinned-this"}},
		"no context":      {map[string]string{"context-file": "/nowhere/context.json"}, "config-invalid", []string{"context-file: ", "/nowhere/context.json"}},
		"no kubeconfig":   {map[string]string{"kubeconfig": "/nowhere/kubeconfig"}, "config-invalid", []string{"kubeconfig: ", "/nowhere"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := set(t, harness.Template{})
			for input, value := range c.inputs {
				s.Inputs[input] = value
			}
			s.expect(s.run(), want{outcome: "invalid", reason: c.reason, says: c.says})
			s.expectUntouched()
		})
	}
}

// TestContextOfAnotherIdentity: a binding that was edited by hand.
func TestContextOfAnotherIdentity(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	binding := harness.Member(s.Context, "protected_aks_job_identity_bindings", s.Name).(harness.Object)
	binding["identity_client_id"] = "99999999-cccc-dddd-eeee-ffffffffffff"
	if err := s.WriteContext(); err != nil {
		t.Fatal(err)
	}
	s.expect(s.run(), want{outcome: "refused", reason: "identity-binding-invalid", says: []string{"context-file#protected_aks_job_identity_bindings." + s.Name}})
	s.expectUntouched()
}

// TestWorkFolders: one that somebody else could change is refused, with the
// component of the path that is at fault.
func TestWorkFolders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		// change makes a folder below dir and returns the path to use.
		change func(dir string) (string, error)
		says   []string
	}{
		"open": {
			func(dir string) (string, error) {
				path := filepath.Join(dir, "open")
				return path, os.Mkdir(path, 0o755)
			},
			[]string{"open has mode 0755, must have 0700"},
		},
		"replaceable": {
			func(dir string) (string, error) {
				path := filepath.Join(dir, "everybodys")
				if err := os.Mkdir(path, 0o700); err != nil {
					return "", err
				}
				return filepath.Join(path, "records"), os.Chmod(path, 0o777)
			},
			[]string{"everybodys has mode 0777"},
		},
		"link": {
			func(dir string) (string, error) {
				path := filepath.Join(dir, "link")
				if err := os.Mkdir(path+"ed", 0o700); err != nil {
					return "", err
				}
				return path, os.Symlink(path+"ed", path)
			},
			[]string{"link is a symbolic link"},
		},
		"file": {
			func(dir string) (string, error) {
				path := filepath.Join(dir, "file")
				return path, os.WriteFile(path, nil, 0o600)
			},
			[]string{"file is no regular file, must be a folder"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := set(t, harness.Template{})
			path, err := c.change(s.Dir)
			if err != nil {
				t.Fatal(err)
			}
			s.Inputs["work-dir"] = path
			s.expect(s.run(), want{outcome: "invalid", reason: "config-invalid", says: append(c.says, "work-dir")})
			if sent := s.requests(); len(sent) > 0 {
				t.Errorf("requests were sent: %+v", sent)
			}
		})
	}
}

// TestWorkFolderOfAnotherUser is how a runner's mounts look to a container that
// runs as root.
func TestWorkFolderOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		needRealNode(t) // only root can give a folder away, and only root has real containers
	}
	for name, below := range map[string]string{"itself": "", "above": "records"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := set(t, harness.Template{})
			path := filepath.Join(s.Dir, "runners")
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(path, 1001, 1001); err != nil {
				t.Fatal(err)
			}
			s.Inputs["work-dir"] = filepath.Join(path, below)
			s.expect(s.run(), want{outcome: "invalid", reason: "config-invalid", says: []string{"work-dir", "runners belongs to uid 1001", "CI runner"}})
			if sent := s.requests(); len(sent) > 0 {
				t.Errorf("requests were sent: %+v", sent)
			}
		})
	}
}

// TestFlags: on a terminal the inputs are flags, and the outputs are printed.
func TestFlags(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	var args []string
	for name, value := range s.Inputs {
		args = append(args, "--"+name+"="+value)
	}
	run, err := s.World.Runner.Start(t.Context(), harness.Step{
		Args: append([]string{"run"}, args...),
		Env:  map[string]string{"GITHUB_ACTIONS": "", "CI": ""},
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := run.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if e.Status != 0 || !strings.Contains(e.Stdout, "outcome=succeeded\n") || !strings.Contains(e.Stderr, "created Job") {
		t.Errorf("status %d\n%s\n%s", e.Status, e.Stdout, e.Stderr)
	}
	s.ends = append(s.ends, e)
	s.expectCreated(1)
}

// TestRequestsOfARun: a run to success needs five requests, the first two of
// which are sent at the same time.
func TestRequestsOfARun(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	s.expect(s.run(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
	var have []string
	for _, r := range s.requests() {
		if r.Stage == "ResponseComplete" && r.Verb == "watch" {
			continue // its beginning counts
		}
		have = append(have, r.Verb+" "+r.Resource)
	}
	if len(have) > 1 && have[0] > have[1] {
		have[0], have[1] = have[1], have[0]
	}
	if got, wanted := strings.Join(have, ", "), "get cronjobs, get serviceaccounts, get jobs, create jobs, watch jobs"; got != wanted {
		t.Errorf("the requests are %s\nwant %s", got, wanted)
	}
	all, err := s.World.Cluster.Audit(t.Context(), func(e cluster.AuditEvent) bool { return e.User == s.User && e.UserAgent == "" })
	if err != nil || len(all) > 0 {
		t.Errorf("requests without a user agent: %+v %v", all, err)
	}
}
