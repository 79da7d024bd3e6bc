package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/report"
)

// step is a step of a GitHub workflow that uses the action.
type step struct {
	env    map[string]string
	folder string
}

// newStep returns a step whose inputs are right, for the given API server.
func newStep(t *testing.T, server *apiServer) *step {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	private := filepath.Join(folder, "private")
	if err := os.Mkdir(private, 0o700); err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(private, "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(server.kubeconfig()), 0o600); err != nil {
		t.Fatal(err)
	}
	return &step{folder: folder, env: map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": filepath.Join(folder, "output"), "GITHUB_STEP_SUMMARY": filepath.Join(folder, "summary"),
		"INPUT_KUBECONFIG": kubeconfig, "INPUT_CONTEXT-FILE": "testdata/context.json", "INPUT_WORK-DIR": filepath.Join(folder, "records"),
		"INPUT_CRONJOB": "inventory", "INPUT_PURPOSE": "inventory", "INPUT_CONTAINER": "inventory",
		"INPUT_IMAGE":   "example.azurecr.io/app@sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc",
		"INPUT_COMMAND": "python\n-m\nexample.sync\n", "INPUT_SERVICE-ACCOUNT": "inventory-job", "INPUT_ARGS": "--initial\n",
		"INPUT_TIMEOUT": "1m",
		// A runner without services for artifacts, on which records go to the cluster.
		"GITHUB_RUN_ID": "4711", "GITHUB_RUN_ATTEMPT": "1", "GITHUB_REPOSITORY": "acme/orders",
		"GITHUB_SERVER_URL": "https://ghes.example.com", "GITHUB_API_URL": "https://ghes.example.com/api/v3",
	}}
}

// ended is what a step left behind.
type ended struct {
	status       int
	log          string
	outputs      map[string]string
	summary, raw string
}

func (s *step) run(ctx context.Context, t *testing.T) ended {
	t.Helper()
	status, log := s.main(ctx)
	return s.ended(t, status, log)
}

func (s *step) main(ctx context.Context) (status int, log string) {
	var stdout, stderr safeBuffer
	status = realMain(ctx, nil, func(key string) string { return s.env[key] }, nothing, &stdout, &stderr)
	return status, stdout.String() + stderr.String()
}

func (s *step) ended(t *testing.T, status int, log string) ended {
	t.Helper()
	e := ended{status: status, log: log, outputs: map[string]string{}}
	for _, f := range []struct {
		path string
		into *string
	}{{s.env["GITHUB_OUTPUT"], &e.raw}, {s.env["GITHUB_STEP_SUMMARY"], &e.summary}} {
		data, err := os.ReadFile(f.path)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		*f.into = string(data)
	}
	// The last value of a name counts, as for the runner.
	lines := strings.Split(e.raw, "\n")
	for i := 0; i < len(lines); i++ {
		name, delimiter, ok := strings.Cut(lines[i], "<<")
		if !ok {
			continue
		}
		var value []string
		for i++; i < len(lines) && lines[i] != delimiter; i++ {
			value = append(value, lines[i])
		}
		e.outputs[name] = strings.Join(value, "\n")
	}
	expectSecret(t, token, e.log, e.raw, e.summary)
	return e
}

// expectSecret fails when a text tells any part of a secret that is worth
// having, but for the command that has the runner hide it.
func expectSecret(t *testing.T, secret string, texts ...string) {
	t.Helper()
	const part = 24
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "::add-mask::") {
				continue
			}
			for at := 0; at+part <= len(secret); at += part / 2 {
				if strings.Contains(line, secret[at:at+part]) {
					t.Errorf("a secret is told: %.400s", line)
					break
				}
			}
		}
	}
}

// expect fails unless the step ended with the status and these outputs, and
// every output that there is was set.
func (e ended) expect(t *testing.T, status int, outputs ...string) {
	t.Helper()
	if e.status != status {
		t.Errorf("the exit status is %d, want %d\n%s", e.status, status, e.log)
	}
	for i := 0; i < len(outputs); i += 2 {
		if have := e.outputs[outputs[i]]; have != outputs[i+1] {
			t.Errorf("output %s is %q, want %q\n%s", outputs[i], have, outputs[i+1], e.log)
		}
	}
	for _, doc := range report.OutputDocs() {
		if _, ok := e.outputs[doc.Name]; !ok {
			t.Errorf("output %s is not set", doc.Name)
		}
	}
}

// errors returns the error annotations.
func (e ended) errors() (out []string) {
	for line := range strings.Lines(e.log) {
		if strings.HasPrefix(line, "::error") {
			out = append(out, line)
		}
	}
	return out
}

// expectError fails unless there is exactly one error annotation, with the code
// in its title and all of the texts in it.
func (e ended) expectError(t *testing.T, code string, texts ...string) {
	t.Helper()
	errors := e.errors()
	if len(errors) != 1 || !strings.HasPrefix(errors[0], "::error title="+code) {
		t.Fatalf("want one error annotation titled %s, have %q\n%s", code, errors, e.log)
	}
	for _, text := range texts {
		if !strings.Contains(errors[0], text) {
			t.Errorf("%q is not in %q", text, errors[0])
		}
	}
}

// safeBuffer is written by several goroutines.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func TestRunToSuccessAndAgain(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, complete)
	s := newStep(t, server)
	first := s.run(t.Context(), t)
	first.expect(t, 0, "outcome", "succeeded", "reason", "", "dispatched", "true", "resumed", "false",
		"job-uid", "5b7c2f7e-0d8f-4f1b-9d57-8f6c2f0f6a11", "namespace", "fdai-runtime", "successor", "0",
		"checkpoint-dir", s.env["INPUT_WORK-DIR"])
	if len(first.errors()) > 0 || !strings.Contains(first.summary, first.outputs["job-name"]) {
		t.Errorf("errors %q, summary:\n%s", first.errors(), first.summary)
	}
	if !strings.Contains(first.log, "::add-mask::"+token) || strings.Index(first.log, "::add-mask::"+token) > strings.Index(first.log, "verified") {
		t.Errorf("the token is not masked first\n%s", first.log)
	}
	for _, event := range []string{"verified", "recorded", "dispatched", "waiting", "terminal"} {
		if !strings.Contains(first.log, "  "+event+" ") {
			t.Errorf("event %s is not shown\n%s", event, first.log)
		}
	}

	// The Job's TTL is over.
	server.mu.Lock()
	server.job = nil
	server.mu.Unlock()
	again := s.run(t.Context(), t)
	again.expect(t, 0, "outcome", "succeeded", "dispatched", "false", "resumed", "true",
		"job-name", first.outputs["job-name"], "terminal-evidence", first.outputs["terminal-evidence"])
	if n := server.creates(); n != 1 {
		t.Errorf("%d Jobs were created", n)
	}
}

func TestRunToFailure(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, failed)
	e := newStep(t, server).run(t.Context(), t)
	e.expect(t, 1, "outcome", "failed", "reason", "job-failed", "dispatched", "true")
	e.expectError(t, "job-failed", "BackoffLimitExceeded")
}

func TestRunWithTheKubeconfigItself(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, complete)
	s := newStep(t, server)
	delete(s.env, "INPUT_KUBECONFIG")
	s.env["INPUT_KUBECONFIG-CONTENT"] = server.kubeconfig()
	s.run(t.Context(), t).expect(t, 0, "outcome", "succeeded")
}

func TestRunWithFlagsOnATerminal(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, complete)
	s := newStep(t, server)
	var args []string
	for key, value := range s.env {
		if name, ok := strings.CutPrefix(key, "INPUT_"); ok {
			args = append(args, "--"+strings.ToLower(name)+"="+value)
		}
	}
	var stdout, stderr safeBuffer
	status := realMain(t.Context(), args, func(string) string { return "" }, nothing, &stdout, &stderr)
	if status != 0 || !strings.Contains(stdout.String(), "outcome=succeeded\n") || !strings.Contains(stderr.String(), "dispatched") {
		t.Errorf("status %d\n%s\n%s", status, stdout.String(), stderr.String())
	}
}

func TestRunRefusesBadInput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change map[string]string
		reason string
		texts  []string
	}{
		"nothing given": {map[string]string{"INPUT_CRONJOB": "", "INPUT_IMAGE": "nginx"}, "config-invalid", []string{"cronjob: is missing", "image: "}},
		"not pinned":    {map[string]string{"INPUT_CRONJOB": "backfill"}, "context-incomplete", []string{"context-file#protected_aks_job_template_digests.backfill"}},
		"no file":       {map[string]string{"INPUT_KUBECONFIG": "/nowhere/kubeconfig"}, "config-invalid", []string{"kubeconfig: ", "/nowhere"}},
		"no kubeconfig": {map[string]string{"INPUT_KUBECONFIG": "", "INPUT_KUBECONFIG-CONTENT": "x"}, "config-invalid", []string{"kubeconfig-content: is not a kubeconfig"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newAPIServer(t, complete)
			s := newStep(t, server)
			maps.Copy(s.env, c.change)
			e := s.run(t.Context(), t)
			e.expect(t, 2, "outcome", "invalid", "reason", c.reason, "dispatched", "false", "job-name", "")
			e.expectError(t, c.reason, c.texts...)
			s.expectUntouched(t, server)
		})
	}
}

// People give the content where the path belongs, and the host hides nothing of it.
func TestAKubeconfigsContentInPlaceOfItsPathIsNotTold(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, complete)
	folded := strings.NewReplacer("{", "{\n", ",", ",\n").Replace(server.kubeconfig())
	for name, content := range map[string]string{
		"on one line": server.kubeconfig(), "on many": folded, "in Base64": base64.StdEncoding.EncodeToString([]byte("apiVersion: v1\ntoken: " + token)),
		"not one": strings.Repeat(token, 2),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, host := range []string{"true", ""} {
				s := newStep(t, server)
				s.env["GITHUB_ACTIONS"], s.env["INPUT_KUBECONFIG"] = host, content
				e := s.run(t.Context(), t)
				if e.status != 2 || !strings.Contains(e.log, "kubeconfig-content") || strings.Contains(e.log, "apiVersion: v1") {
					t.Errorf("status %d\n%.1000s", e.status, e.log)
				}
				for at := 0; at+24 < len(content); at += 12 {
					if part := content[at : at+24]; name == "in Base64" && strings.Contains(e.log+e.summary, part) {
						t.Fatalf("a part of it is told: %s", part)
					}
				}
				s.expectUntouched(t, server)
			}
		})
	}
}

func TestWhatTheServerSaysAtLengthIsBounded(t *testing.T) {
	t.Parallel()
	status := maps.Clone(complete)
	status["conditions"] = []any{map[string]any{"type": "Complete", "status": "True", "reason": strings.Repeat("R", 2<<20)}}
	for _, host := range []string{"true", ""} {
		server := newAPIServer(t, status)
		s := newStep(t, server)
		s.env["GITHUB_ACTIONS"] = host
		e := s.run(t.Context(), t)
		if e.status != 0 || len(e.log) > 64<<10 || len(e.raw) > 64<<10 || len(e.summary) > 64<<10 {
			t.Errorf("status %d, log of %d bytes, outputs of %d, summary of %d", e.status, len(e.log), len(e.raw), len(e.summary))
		}
		if !strings.Contains(e.log+e.raw, "(left out: 2097152 bytes)") {
			t.Errorf("nothing is said of what is left out:\n%.2000s", e.log)
		}
	}
}

// expectUntouched fails when a request was sent or a work folder made.
func (s *step) expectUntouched(t *testing.T, server *apiServer) {
	t.Helper()
	server.mu.Lock()
	defer server.mu.Unlock()
	if len(server.requests) > 0 {
		t.Errorf("requests were sent: %q", server.requests)
	}
	if _, err := os.Stat(s.env["INPUT_WORK-DIR"]); !os.IsNotExist(err) {
		t.Errorf("the work folder was made: %v", err)
	}
}

// A secret that is too long to be shown whole must not be shown in part.
func TestASecretInAnArgumentIsHiddenBeforeItIsShortened(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, complete)
	s := newStep(t, server)
	s.env["INPUT_ARGS"] = "--x=" + token
	e := s.run(t.Context(), t)
	e.expect(t, 0, "outcome", "succeeded")
	if !strings.Contains(e.summary, "--x=***") {
		t.Errorf("the argument is not in the summary:\n%s", e.summary)
	}
}

// What is told of inputs that are wrong holds what was right about the others.
func TestASecretIsHiddenWhenAnotherInputIsWrong(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, complete)
	s := newStep(t, server)
	s.env["INPUT_ARGS"], s.env["INPUT_TIMEOUT"] = "--x="+token, "never"
	e := s.run(t.Context(), t)
	e.expect(t, 2, "outcome", "invalid")
	e.expectError(t, "config-invalid", "timeout")
	s.expectUntouched(t, server)
}

// A server may repeat a token where what it says is shortened.
func TestASecretInAServersMessageIsHiddenBeforeItIsShortened(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, complete)
	server.refusals["get cronjobs"] = refusal{400, strings.Repeat("x", 1000) + " " + token}
	e := newStep(t, server).run(t.Context(), t)
	e.expect(t, 3, "outcome", "refused", "reason", "template-unavailable")
	e.expectError(t, "template-unavailable", "x ***")
}

func TestThePasswordsOfProxiesAreHidden(t *testing.T) {
	t.Parallel()
	const kubeconfigs, environments = "hunter2-in-the-kubeconfig", "hunter2-in-the-environment"
	server := newAPIServer(t, complete)
	s := newStep(t, server)
	delete(s.env, "INPUT_KUBECONFIG")
	// It does not answer, so that the run ends early.
	s.env["INPUT_KUBECONFIG-CONTENT"] = strings.Replace(server.kubeconfig(), `"server"`, `"proxy-url":"http://u:`+kubeconfigs+`@127.0.0.1:1","server"`, 1)
	s.env["INPUT_TIMEOUT"], s.env["https_proxy"] = "1s", "http://u:"+environments+"@proxy.example:3128"
	s.env["INPUT_ARGS"] = "--a=" + kubeconfigs + "\n--b=" + environments
	e := s.run(t.Context(), t)
	e.expect(t, 3, "outcome", "refused", "reason", "cluster-unreachable")
	for _, secret := range []string{kubeconfigs, environments} {
		expectSecret(t, secret, e.log, e.raw, e.summary)
		if !strings.Contains(e.log, "::add-mask::"+secret+"\n") {
			t.Errorf("the runner is not told to mask %s", secret)
		}
	}
}

func TestRunRefusesAKubeconfigThatIsNotPrivate(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, complete)
	s := newStep(t, server)
	path := s.env["INPUT_KUBECONFIG"]
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	e := s.run(t.Context(), t)
	e.expect(t, 2, "reason", "config-invalid")
	e.expectError(t, "config-invalid", "kubeconfig: "+path+" has mode 0640")
	s.expectUntouched(t, server)
}

func TestRunRefusesAWorkFolderThatIsNotPrivate(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, complete)
	s := newStep(t, server)
	open := filepath.Join(s.folder, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	s.env["INPUT_WORK-DIR"] = filepath.Join(open, "records")
	e := s.run(t.Context(), t)
	e.expect(t, 2, "reason", "config-invalid")
	e.expectError(t, "config-invalid", "work-dir: ", open+" has mode 0777")
	s.expectUntouched(t, server)
}

func TestRunTellsWhichRoleItNeeds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		request string
		code    int
		shown   bool
	}{
		{"get cronjobs", 403, true}, {"get serviceaccounts", 403, true}, {"get jobs", 403, true}, {"create jobs", 403, true},
		{"get cronjobs", 401, false},
	} {
		t.Run(fmt.Sprintf("%s %d", c.request, c.code), func(t *testing.T) {
			t.Parallel()
			server := newAPIServer(t, complete)
			verb, resource, _ := strings.Cut(c.request, " ")
			server.refusals[c.request] = refusal{c.code, fmt.Sprintf(
				"%s is forbidden: User %q cannot %s resource %q in API group %q in the namespace %q",
				resource, token, verb, resource, "batch", "fdai-runtime")}
			e := newStep(t, server).run(t.Context(), t)
			if e.outputs["reason"] != "permission-denied" || e.status == 0 {
				t.Fatalf("status %d, outputs %v\n%s", e.status, e.outputs, e.log)
			}
			e.expectError(t, "permission-denied", verb+" "+resource)
			if strings.Contains(e.log, role) != c.shown {
				t.Errorf("the Role is shown: %t, want %t\n%s", !c.shown, c.shown, e.log)
			}
			if pointed := strings.Contains(e.errors()[0], "Apply the Role that is printed in the log, and bind it to the identity of this run. "); pointed != c.shown {
				t.Errorf("the Role is pointed to: %t, want %t", pointed, c.shown)
			}
			if n := server.creates(); n != 0 {
				t.Errorf("%d Jobs were created", n)
			}
		})
	}
}

func TestRunRefusesADriftedTemplate(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, complete)
	server.cronJob["spec"].(map[string]any)["schedule"] = "0 0 * * *"
	e := newStep(t, server).run(t.Context(), t)
	e.expect(t, 3, "outcome", "refused", "reason", "template-drift", "dispatched", "false", "namespace", "fdai-runtime")
	e.expectError(t, "template-drift")
}

func TestRunGivesUpWaiting(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, nil)
	s := newStep(t, server)
	s.env["INPUT_TIMEOUT"] = "1s"
	e := s.run(t.Context(), t)
	e.expect(t, 4, "outcome", "unknown", "reason", "deadline-exceeded", "dispatched", "true")
	e.expectError(t, "deadline-exceeded")
}

func TestRunDoesNotShareItsWorkFolder(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, nil)
	s := newStep(t, server)
	ctx, cancel := context.WithCancel(t.Context())
	type end struct {
		status int
		log    string
	}
	done := make(chan end, 1)
	go func() {
		status, log := s.main(ctx)
		done <- end{status, log}
	}()
	select {
	case <-server.waiting:
	case e := <-done:
		t.Fatalf("ended with status %d\n%s", e.status, e.log)
	}
	other := &step{folder: s.folder, env: maps.Clone(s.env)}
	other.env["GITHUB_OUTPUT"], other.env["GITHUB_STEP_SUMMARY"] = s.folder+"/output2", s.folder+"/summary2"
	e := other.run(t.Context(), t)
	e.expect(t, 3, "outcome", "refused", "reason", "checkpoint-store-failed")
	e.expectError(t, "checkpoint-store-failed", "work-dir: another run is using the work folder "+s.env["INPUT_WORK-DIR"])
	cancel()
	first := <-done
	s.ended(t, first.status, first.log).expect(t, 130, "outcome", "cancelled", "reason", "cancelled", "dispatched", "true")
	if n := server.creates(); n != 1 {
		t.Errorf("%d Jobs were created", n)
	}
}

func TestRunSurvivesAnOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, complete)
	s := newStep(t, server)
	s.env["GITHUB_OUTPUT"] = s.folder + "/none/output"
	e := s.run(t.Context(), t)
	if e.status != 0 || !strings.Contains(e.log, "::warning::could not set output outcome") || e.summary == "" {
		t.Errorf("status %d\n%s", e.status, e.log)
	}
}
