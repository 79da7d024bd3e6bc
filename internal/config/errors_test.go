package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	const noWayIn = ": nothing says how to get into the cluster. Give client-id (az needs none), and cluster-id or both resource-group and cluster-name, to sign in to Azure; or else a kubeconfig. " +
		"In a workflow, a secret or variable that the job does not have is an empty input"
	long := strings.Repeat("x", 4097)
	for name, c := range map[string]struct {
		in   map[string]string
		args []string
		want string
	}{
		"both contexts": {with(good(), "target-binding", pinned64), nil,
			"config-invalid: target-binding: is given beside context-file, which has it too; give one of them"},
		"another tenant than the context's": {with(good(), "tenant-id", subscription), nil,
			"config-invalid: tenant-id: is 11111111-2222-3333-4444-555555555555, but tenant_id in the context in testdata/context.json is 66666666-7777-8888-9999-aaaaaaaaaaaa; they must be the same. Leave tenant-id out or, where the one in the context is wrong, make a new context (aks-oneshot pin)"},
		"another subscription than the context's": {with(good(), "subscription-id", tenant), nil,
			"config-invalid: subscription-id: is 66666666-7777-8888-9999-aaaaaaaaaaaa, but subscription_id in the context in testdata/context.json is 11111111-2222-3333-4444-555555555555; they must be the same. Leave subscription-id out or, where the one in the context is wrong, make a new context (aks-oneshot pin)"},
		"a tenant's name": {with(good(), "tenant-id", "hunter2.onmicrosoft.com"), nil,
			"config-invalid: tenant-id: is not a GUID: it has 23 bytes, want 8-4-4-4-12 hexadecimal digits. It is what az account show --query tenantId prints; a domain name will not do"},
		"a subscription's name among members": {with(memberwise(t), "subscription-id", "hunter2"), nil,
			"config-invalid: subscription-id: is not a GUID: it has 7 bytes, want 8-4-4-4-12 hexadecimal digits. It is what az account show --query id prints; a name will not do"},
		"tenant and subscription alone": {with(good(), "context-file", "", "tenant-id", tenant, "subscription-id", subscription), nil,
			"context-incomplete: context-file: is missing: neither it nor its members (source-commit, target-binding, template-digest, identity-binding) are given"},
		"no context": {with(good(), "context-file", ""), nil,
			"context-incomplete: context-file: is missing: neither it nor its members (source-commit, target-binding, tenant-id, subscription-id, template-digest, identity-binding) are given"},
		"nothing but what is required": {with(good(), "context-file", "", "kubeconfig", ""), nil,
			"config-invalid: 2 things are wrong with the inputs:\nkubeconfig: is missing, and so are kubeconfig-content and the inputs of Azure" + noWayIn +
				"\ncontext-file: is missing: neither it nor its members (source-commit, target-binding, tenant-id, subscription-id, template-digest, identity-binding) are given (context-incomplete)"},
		"a context file without value": {with(good(), "context-file", "", "kubeconfig", ""), []string{"--context-file"},
			"config-invalid: context-file: has no value; a value that is itself the name of a flag is given as --context-file=value"},
		"a member missing": {with(memberwise(t), "template-digest", ""), nil,
			"context-incomplete: template-digest: is missing, and no context-file is given that has it"},
		"a member malformed": {with(memberwise(t), "target-binding", "ABC"), nil,
			`config-invalid: target-binding: "ABC" is not a SHA-256 digest: want 64 lower-case hexadecimal digits`},
		"a binding that is no JSON": {with(memberwise(t), "identity-binding", "{"), nil,
			"config-invalid: identity-binding: could not be read: invalid JSON: unexpected EOF"},
		"a binding that is no object": {with(memberwise(t), "identity-binding", "[]"), nil,
			"context-incomplete: identity-binding: must be an object, is an array"},
		"a binding that was edited": {with(memberwise(t), "identity-binding", `{"namespace":"other"}`), nil,
			"identity-binding-invalid: identity-binding.(keys): has the fields namespace, want exactly annotations, identity_client_id, identity_resource_id, namespace, schema_version, service_account_name, subscription_id, tenant_id and binding_digest"},
		"another ServiceAccount than the binding's": {with(good(), "service-account", "default"), nil,
			"identity-binding-invalid: context-file#protected_aks_job_identity_bindings.inventory.service_account_name: is inventory-job, want default"},
		"a template that is not pinned": {with(good(), "cronjob", "backfill"), nil,
			"context-incomplete: context-file#protected_aks_job_template_digests.backfill: the context pins no digest for template backfill"},
		"another namespace": {with(good(), "namespace", "default"), nil,
			`config-invalid: namespace: is "default"; the fdai/v1 contract knows only fdai-runtime`},
		"no kubeconfig": {with(good(), "kubeconfig", ""), nil,
			"config-invalid: kubeconfig: is missing, and so are kubeconfig-content and the inputs of Azure, and the context in testdata/context.json names none" + noWayIn},
		"no kubeconfig, no file": {with(memberwise(t), "kubeconfig", ""), nil,
			"config-invalid: kubeconfig: is missing, and so are kubeconfig-content and the inputs of Azure" + noWayIn},
		"two kubeconfigs": {with(good(), "kubeconfig-content", "x"), nil,
			"config-invalid: kubeconfig-content: is given beside kubeconfig; give one of them"},
		"an empty argument":               {with(good(), "args", "a\r\n\r\nb\r\n"), nil, "config-invalid: args: line 2 is empty"},
		"an empty JSON argument":          {with(good(), "args", `["a",""]`), nil, "config-invalid: args: item 2 is empty"},
		"a long argument":                 {with(good(), "args", long), nil, "config-invalid: args: line 1 has 4097 characters, at most 4096 are allowed"},
		"a line break in a JSON argument": {with(good(), "command", `["a\nb"]`), nil, "config-invalid: command: item 1 holds a NUL or a line break"},
		"a number in a JSON list":         {with(good(), "command", `["a",1]`), nil, "config-invalid: command: item 2 of the JSON list is no string"},
		"a bracket that begins no JSON": {with(good(), "args", "[x]"), nil,
			"config-invalid: args: begins with [ but is no JSON list: invalid JSON: invalid character 'x' looking for beginning of value. An argument that begins with [ is written in a JSON list"},
		"an empty JSON command": {with(good(), "command", "[]"), nil, "config-invalid: command: is missing"},
		"env without =":         {with(good(), "env", "A=b\nhunter2"), nil, "config-invalid: env: line 2 is not NAME=value"},
		"env twice":             {with(good(), "env", "A=b\n\nA=c"), nil, `config-invalid: env: line 3 sets "A", which line 1 has set`},
		"env with a bad name":   {with(good(), "env", "A B=c"), nil, `config-invalid: env: line 1: "A B" is not the name of an environment variable`},
		"env with a credential": {with(good(), "env", "A=b\nGH_Token=hunter2"), nil,
			"config-invalid: env: line 2: GH_Token: names a credential (TOKEN). Overrides are recorded in plain text; give a credential to the CronJob through a Secret instead"},
		"env with a long value": {with(good(), "env", "A="+long), nil, "config-invalid: env: line 1: A: the value has 4097 characters, at most 4096 are allowed"},
		"a long purpose": {with(good(), "purpose", strings.Repeat("p", 42)), nil,
			"config-invalid: purpose: " + strings.Repeat("p", 42) + " makes a Job name of more than 63 characters"},
		"a purpose too long for a successor": {with(good(), "purpose", strings.Repeat("p", 41), "retries", "1", "retry-env", "[{}]"), nil,
			"config-invalid: purpose: with the suffix of successor 1: " + strings.Repeat("p", 41) + "-retry-1 makes a Job name of more than 63 characters"},
		"suspension":            {with(good(), "require-suspended", "True"), nil, `config-invalid: require-suspended: is "True"; want true, false or nothing`},
		"timeout":               {with(good(), "timeout", "soon"), nil, `config-invalid: timeout: is "soon"; want a duration such as 90s or 45m, or a number of seconds`},
		"timeout of nothing":    {with(good(), "timeout", "0"), nil, `config-invalid: timeout: is "0"; want from 1s to 6h0m0s`},
		"timeout below nothing": {with(good(), "timeout", "-5m"), nil, `config-invalid: timeout: is "-5m"; want from 1s to 6h0m0s`},
		"timeout of days":       {with(good(), "timeout", "21601"), nil, `config-invalid: timeout: is "21601"; want from 1s to 6h0m0s`},
		"timeout past any number": {with(good(), "timeout", "99999999999999999999"), nil,
			`config-invalid: timeout: is "99999999999999999999"; want a duration such as 90s or 45m, or a number of seconds`},
		"retries": {with(good(), "retries", "-1"), nil, `config-invalid: retries: is "-1"; want a number from 0 to 2`},
		"a retry without environment": {with(good(), "retries", "2", "retry-env", "[{}]"), nil,
			"config-invalid: retry-env: has 1 environments, but retries is 2; give one for each successor"},
		"an environment without retry": {with(good(), "retry-env", "[{}]"), nil,
			"config-invalid: retry-env: has 1 environments, but retries is 0; give one for each successor"},
		"retry-env no JSON": {with(good(), "retries", "1", "retry-env", "A=b"), nil,
			"config-invalid: retry-env: cannot be read: invalid JSON: invalid character 'A' looking for beginning of value"},
		"retry-env no list": {with(good(), "retries", "1", "retry-env", "{}"), nil, "config-invalid: retry-env: is no JSON list of objects"},
		"retry-env no objects": {with(good(), "retries", "2", "retry-env", `[{"A":1,"B":null},"x"]`), nil,
			"config-invalid: 3 things are wrong with the inputs:\n" +
				`retry-env: item 1: the value of "A" is no string` + "\n" +
				`retry-env: item 1: the value of "B" is no string` + "\n" +
				"retry-env: item 2 is no JSON object of strings"},
		"retry-env with a credential": {with(good(), "retries", "1", "retry-env", `[{"PASSWORD":"hunter2"}]`), nil,
			"config-invalid: retry-env: item 1: PASSWORD: names a credential (PASSWORD). Overrides are recorded in plain text; give a credential to the CronJob through a Secret instead"},
		"a misspelt flag":                 {good(), []string{"--servce-account=x"}, "config-invalid: --servce-account: is no input; did you mean --service-account?"},
		"a flag like env and environment": {good(), []string{"--environmen=A=hunter2"}, "config-invalid: --environmen: is no input; did you mean --env (variables of the Job) or --environment (the Azure cloud)?"},
		"a flag more like env":            {good(), []string{"--envs=A=hunter2"}, "config-invalid: --envs: is no input; did you mean --env (variables of the Job) or --environment (the Azure cloud)?"},
		"a shortened flag":                {good(), []string{"--template", "x"}, "config-invalid: --template: is no input; did you mean --template-digest?"},
		"a flag like no other":            {good(), []string{"--verbose"}, "config-invalid: --verbose: is no input; aks-oneshot help run lists them"},
		"a dash too few":                  {good(), []string{"-cronjob=x"}, "config-invalid: -cronjob: is no flag; inputs are given as --name=value or --name value"},
		"a secret as an argument":         {good(), []string{"hunter2"}, "config-invalid: argument 1: is no flag; inputs are given as --name=value or --name value"},
		"a secret without dashes":         {good(), []string{"kubeconfig-content=hunter2"}, "config-invalid: kubeconfig-content: is no flag; inputs are given as --name=value or --name value"},
		"a secret after a misspelt flag":  {good(), []string{"--verbose", "-hunter2"}, "config-invalid: 2 things are wrong with the inputs:\n--verbose: is no input; aks-oneshot help run lists them\nargument 2: is no flag; inputs are given as --name=value or --name value"},
		"a secret in a flag's place":      {good(), []string{"--hunter2"}, "config-invalid: argument 1: is no input; aks-oneshot help run lists them"},
		"a kubeconfig's content": {with(good(), "kubeconfig", "apiVersion: v1\ntoken: hunter2"), nil,
			"config-invalid: kubeconfig: holds a kubeconfig, and wants the path of one; the content goes into kubeconfig-content"},
		"a kubeconfig's content on one line": {with(good(), "kubeconfig", "{kind: Config, token: hunter2}"), nil,
			"config-invalid: kubeconfig: holds a kubeconfig, and wants the path of one; the content goes into kubeconfig-content"},
		"a kubeconfig in Base64": {with(good(), "kubeconfig", "YXBpVmVyc2lvbjogdjEK"), nil,
			"config-invalid: kubeconfig: holds a kubeconfig, and wants the path of one; the content goes into kubeconfig-content"},
		"something long": {with(good(), "kubeconfig", strings.Repeat("hunter2", 100)), nil,
			"config-invalid: kubeconfig: is no path: it has 700 bytes, and a name in it more than 255; it wants the path of a kubeconfig; the content goes into kubeconfig-content"},
		"a context's content": {with(good(), "context-file", `{"source_commit":"hunter2"}`), nil,
			"config-invalid: context-file: holds a context, and wants the path of one; its members can be given one by one"},
		"a work folder of two lines": {with(good(), "work-dir", "/a\nhunter2"), nil,
			"config-invalid: work-dir: holds more than the path of a folder"},
		"a client secret as a flag": {good(), []string{"--client-secret=hunter2"},
			"config-invalid: --client-secret: is no input; no secret is needed to sign in to Azure, give --client-id"},
		"azure/login's input as a flag": {good(), []string{"--creds", "hunter2"},
			"config-invalid: --creds: is no input; no secret is needed to sign in to Azure, give --client-id"},
		"dashes alone":         {good(), []string{"--"}, "config-invalid: --: is no flag; inputs are given as --name=value or --name value"},
		"a flag at the end":    {good(), []string{"--args"}, "config-invalid: args: has no value; a value that is itself the name of a flag is given as --args=value"},
		"a flag before a flag": {good(), []string{"--args", "--timeout=5m"}, "config-invalid: args: has no value; a value that is itself the name of a flag is given as --args=value"},
		"a flag twice":         {good(), []string{"--purpose=a", "--purpose=b"}, "config-invalid: purpose: is given twice"},
		"a required flag without value": {with(good(), "cronjob", ""), []string{"--cronjob"},
			"config-invalid: cronjob: has no value; a value that is itself the name of a flag is given as --cronjob=value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := read(c.in, c.args...)
			if err == nil {
				t.Fatal("was accepted")
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Errorf("(-want +have)\n%s", diff)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("the message tells the value")
			}
		})
	}
}

func TestReadRefusesContextFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	fifo := filepath.Join(folder, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ path, want string }{
		"not there":  {"testdata/none.json", "config-invalid: context-file: could not be read: open testdata/none.json: no such file or directory"},
		"a folder":   {folder, "config-invalid: context-file: could not be read: " + folder + " is no regular file"},
		"a FIFO":     {fifo, "config-invalid: context-file: could not be read: " + fifo + " is no regular file"},
		"a device":   {"/dev/zero", "config-invalid: context-file: could not be read: /dev/zero is no regular file"},
		"empty":      {writeFile(t, ""), " is empty"},
		"too large":  {writeFile(t, strings.Repeat(" ", maxContext)+"{}"), " has more than 1048576 bytes"},
		"no JSON":    {writeFile(t, "a: b"), "could not be read: invalid JSON: invalid character 'a' looking for beginning of value"},
		"no object":  {writeFile(t, "[]"), "could not be read: want a JSON object, have an array"},
		"incomplete": {contextWith(t, func(o contract.Object) { delete(o, "target_binding") }), "context-incomplete: context-file#target_binding: must be a string, is null"},
		"malformed":  {contextWith(t, func(o contract.Object) { o["source_commit"] = "main" }), `config-invalid: context-file#source_commit: "main" is not a git commit: want 40 lower-case hexadecimal digits`},
		"a digest that is none": {contextWith(t, func(o contract.Object) {
			o["protected_aks_job_template_digests"] = map[string]any{"inventory": "x"}
		}), `template-drift: context-file#protected_aks_job_template_digests.inventory: "x" is not a SHA-256 digest`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Without a kubeconfig, which the file may have had: one fault, one message.
			_, err := read(with(good(), "context-file", c.path, "kubeconfig", ""))
			if all, ok := errors.AsType[Errors](err); ok || err == nil {
				t.Fatalf("have %d errors, want 1: %v", len(all), err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("have %q, want %q in it", err, c.want)
			}
		})
	}
	if path := writeFile(t, strings.Repeat(" ", maxContext)); true {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if read, err := readBounded(path, maxContext); err != nil || len(read) != len(data) {
			t.Errorf("a file of exactly the limit: %d bytes, %v", len(read), err)
		}
	}
}

func TestErrorsCodeIsTheInputsOwn(t *testing.T) {
	t.Parallel()
	_, err := read(with(good(), "service-account", "default", "timeout", "soon"))
	if code := failure.CodeOf(err); code != failure.ConfigInvalid {
		t.Errorf("a malformed input beside a binding of another: %s\n%v", code, err)
	}
	_, err = read(with(good(), "service-account", "default"))
	if code := failure.CodeOf(err); code != failure.IdentityBindingInvalid {
		t.Errorf("a binding of another: %s\n%v", code, err)
	}
}

func TestInputsAreDeclaredOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, in := range Inputs() {
		switch {
		case seen[in.Name]:
			t.Errorf("%s is declared twice", in.Name)
		case in.Required && in.Default != "":
			t.Errorf("%s is required and has a default", in.Name)
		case in.RunnerDefault != "" && (in.Required || in.Default != "" || !strings.HasPrefix(in.RunnerDefault, "${{ ")):
			t.Errorf("%s: %q is the default of a runner, and there is another or none is wanted", in.Name, in.RunnerDefault)
		case in.RunnerDefault != "" && in.ActionDefault() != in.RunnerDefault || in.RunnerDefault == "" && in.ActionDefault() != in.Default:
			t.Errorf("%s: action.yml has the default %q", in.Name, in.ActionDefault())
		case !strings.HasSuffix(in.Description, ".") && !strings.HasSuffix(in.Description, "…"):
			t.Errorf("%s: the description is no sentence: %s", in.Name, in.Description)
		}
		seen[in.Name] = true
	}
}

func TestReadTellsEverythingAtOnceInInputOrder(t *testing.T) {
	t.Parallel()
	_, err := read(map[string]string{
		"kubeconfig-content": "a", "kubeconfig": "b", "source-commit": "main",
		"image": "nginx:latest", "args": "a\n\nb", "retries": "3", "contract": "fdai/v2",
	}, "--jobname=x", "--retrys", "2", "stray")
	all, ok := errors.AsType[Errors](err)
	if !ok {
		t.Fatalf("have %T %v", err, err)
	}
	var fields []string
	for _, e := range all {
		fields = append(fields, e.Field)
	}
	want := []string{
		"--jobname", "--retrys", "argument 4",
		"kubeconfig-content", "source-commit", "target-binding", "tenant-id", "subscription-id", "template-digest", "identity-binding",
		"cronjob", "purpose", "container", "image", "command", "service-account", "args", "retries", "contract",
	}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Errorf("(-want +have)\n%s\n%v", diff, err)
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 1+len(want) {
		t.Errorf("%d lines for %d errors", len(lines), len(want))
	}
}

func FuzzRead(f *testing.F) {
	f.Add("--args=a", "a\r\nb", `[{"A":"b"}]`, "A=b\n\nC", "30m")
	f.Add("--cronjob", "[\"a\", 1]", `[null]`, "=", "-1")
	f.Fuzz(func(t *testing.T, flag, args, retryEnv, env, timeout string) {
		in := with(good(), "args", args, "retry-env", retryEnv, "env", env, "timeout", timeout, "retries", "1", "work-dir", "/w")
		c, err := read(in, flag)
		if err != nil {
			if code := failure.CodeOf(err); code != failure.ConfigInvalid {
				t.Errorf("the code is %q: %v", code, err)
			}
			return
		}
		if err := c.Plan.Request.Validate(); err != nil {
			t.Errorf("accepted, but %v", err)
		}
		for i, e := range c.Plan.SuccessorEnvironments {
			if _, err := c.Plan.Request.Successor(i+1, e); err != nil {
				t.Errorf("accepted, but successor %d: %v", i+1, err)
			}
		}
	})
}
