package config

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

const (
	commit       = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	digest       = "bd512d033430e8b4802f2debdd404713e814fb3262dc1fca47beaa64b508ccf0"
	pinned64     = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	tenant       = "66666666-7777-8888-9999-aaaaaaaaaaaa"
	subscription = "11111111-2222-3333-4444-555555555555"
	reference    = "example.azurecr.io/app@sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
)

// good returns inputs with nothing wrong in them.
func good() map[string]string {
	return map[string]string{
		"kubeconfig": "/run/secrets/kubeconfig", "context-file": "testdata/context.json",
		"cronjob": "inventory", "purpose": "inventory", "container": "inventory",
		"image": reference, "command": "python\n-m\nexample.sync", "service-account": "inventory-job",
	}
}

// memberwise returns the same with the members of the context one by one.
func memberwise(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("testdata/context.json")
	if err != nil {
		t.Fatal(err)
	}
	object, err := contract.ParseObject(data)
	if err != nil {
		t.Fatal(err)
	}
	bindings, _ := object["protected_aks_job_identity_bindings"].(map[string]any)
	binding, err := contract.Canonical(bindings["inventory"])
	if err != nil {
		t.Fatal(err)
	}
	in := good()
	delete(in, "context-file")
	maps.Copy(in, map[string]string{
		"source-commit": commit, "target-binding": pinned64, "tenant-id": tenant, "subscription-id": subscription,
		"template-digest": digest, "identity-binding": string(binding),
	})
	return in
}

// with returns a copy of the inputs with some of them changed; "" removes one.
func with(in map[string]string, changes ...string) map[string]string {
	out := maps.Clone(in)
	for i := 0; i < len(changes); i += 2 {
		out[changes[i]] = changes[i+1]
		if changes[i+1] == "" {
			delete(out, changes[i])
		}
	}
	return out
}

func read(in map[string]string, args ...string) (Config, error) {
	return Read(Source{
		Args:   args,
		Lookup: func(name string) (string, bool) { v, ok := in[name]; return v, ok },
		Getenv: func(string) string { return "" },
	})
}

func TestReadTakesEveryInput(t *testing.T) {
	t.Parallel()
	in := with(good(),
		"args", "--initial\n--from=2026-01-01\n", "env", "RUN_ID=a=b\n\nEMPTY=\n",
		"require-suspended", "true", "timeout", "90", "retries", "1", "retry-env", `[{"RUN_ID":"c"}]`,
		"work-dir", "/srv/records", "namespace", "fdai-runtime", "contract", "fdai/v1")
	c, err := read(in)
	if err != nil {
		t.Fatal(err)
	}
	q := c.Plan.Request
	for name, got := range map[string]string{
		"inventory": q.Template.String(), "fdai-runtime": q.Namespace.String(), reference: q.Image.String(),
		commit: q.Pins.SourceCommit.String(), pinned64: q.Pins.TargetBinding.String(), digest: q.Pins.Template.String(),
		"c97c7afb70820958115b6f1d39fe0345ae1550698687bc06ed5bf228a176b80d": q.Pins.Binding.Digest().String(),
		"inventory-job": q.ServiceAccount.String(), "/srv/records": c.WorkDir, "/run/secrets/kubeconfig": c.Kubeconfig.Path,
	} {
		if got != name {
			t.Errorf("have %q, want %q", got, name)
		}
	}
	for _, pair := range [][2]any{
		{q.Purpose.String(), "inventory"}, {q.Container.String(), "inventory"},
		{q.Command, []string{"python", "-m", "example.sync"}},
		{q.Args, []string{"--initial", "--from=2026-01-01"}},
		{q.Environment, map[string]string{"RUN_ID": "a=b", "EMPTY": ""}},
		{*q.RequireSuspended, true},
		{c.Plan.Timeout, 90 * time.Second},
		{c.Plan.Successors, 1},
		{c.Plan.SuccessorEnvironments, []map[string]string{{"RUN_ID": "c"}}},
		{c.Kubeconfig.Input, "kubeconfig"},
	} {
		if diff := cmp.Diff(pair[1], pair[0]); diff != "" {
			t.Errorf("(-want +have)\n%s", diff)
		}
	}
	if err := q.Validate(); err != nil {
		t.Errorf("the request is not valid: %v", err)
	}
}

func TestReadFillsInDefaults(t *testing.T) {
	t.Parallel()
	// A runner sets declared inputs that have no value to the empty string.
	in := good()
	for _, input := range Inputs() {
		if _, ok := in[input.Name]; !ok {
			in[input.Name] = ""
		}
	}
	c, err := read(in)
	if err != nil {
		t.Fatal(err)
	}
	q := c.Plan.Request
	if q.Namespace.String() != "fdai-runtime" || q.RequireSuspended != nil || len(q.Args) != 0 || len(q.Environment) != 0 {
		t.Errorf("have %+v", q)
	}
	if c.Plan.Timeout != 35*time.Minute || c.Plan.Successors != 0 || c.Plan.SuccessorEnvironments != nil {
		t.Errorf("have %+v", c.Plan)
	}
}

func TestReadMembersOneByOneAreTheContextFile(t *testing.T) {
	t.Parallel()
	file, err := read(good())
	if err != nil {
		t.Fatal(err)
	}
	members, err := read(with(memberwise(t), "tenant-id", strings.ToUpper(tenant)))
	if err != nil {
		t.Fatal(err)
	}
	a, b := file.Plan.Request.Pins, members.Plan.Request.Pins
	if a.SourceCommit != b.SourceCommit || a.TargetBinding != b.TargetBinding || a.Template != b.Template || a.Binding.Digest() != b.Binding.Digest() {
		t.Errorf("the file gives %+v, its members %+v", a, b)
	}
}

func TestReadFlagsWinOverTheHost(t *testing.T) {
	t.Parallel()
	c, err := read(with(good(), "purpose", "Not A Label", "timeout", "1m"), "--purpose=backfill", "--timeout", "2m", "--args", "--dry-run")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Plan.Request.Purpose.String(); got != "backfill" {
		t.Errorf("the purpose is %q", got)
	}
	if c.Plan.Timeout != 2*time.Minute {
		t.Errorf("the timeout is %s", c.Plan.Timeout)
	}
	if diff := cmp.Diff([]string{"--dry-run"}, c.Plan.Request.Args); diff != "" {
		t.Errorf("args (-want +have)\n%s", diff)
	}
	c, err = read(with(good(), "timeout", "1m"), "--timeout=")
	if err != nil || c.Plan.Timeout != 35*time.Minute {
		t.Errorf("an empty flag gives %s, %v; want the default", c.Plan.Timeout, err)
	}
}

func TestReadListsAsLinesOrJSON(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value string
		want  []string
	}{
		"one":                 {"a", []string{"a"}},
		"a block's line end":  {"a\nb\n", []string{"a", "b"}},
		"several line ends":   {"a\nb\n\n\n", []string{"a", "b"}},
		"Windows line ends":   {"a\r\nb\r\n", []string{"a", "b"}},
		"half a line end":     {"a\r\nb\r", []string{"a", "b"}},
		"white space is kept": {"  a \n\tb", []string{"  a ", "\tb"}},
		"JSON":                {`["a b", "[c]"]`, []string{"a b", "[c]"}},
		"JSON on some lines":  {"[\n  \"a\",\n  \"b\"\n]\n", []string{"a", "b"}},
		"an empty JSON list":  {"[]", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(with(good(), "args", c.value))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Plan.Request.Args); diff != "" {
				t.Errorf("(-want +have)\n%s", diff)
			}
		})
	}
}

func TestReadTimeouts(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"1": time.Second, "1s": time.Second, "45m": 45 * time.Minute, "1800": 30 * time.Minute,
		"6h": 6 * time.Hour, "21600": 6 * time.Hour, " 1h30m ": 90 * time.Minute,
	} {
		c, err := read(with(good(), "timeout", value))
		if err != nil || c.Plan.Timeout != want {
			t.Errorf("%q gives %s, %v; want %s", value, c.Plan.Timeout, err, want)
		}
	}
}

func TestReadKubeconfig(t *testing.T) {
	t.Parallel()
	named := contextWith(t, func(object contract.Object) { object["kubeconfig"] = "/etc/fdai/kubeconfig" })
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		in   map[string]string
		want Kubeconfig
	}{
		"from the context":       {with(good(), "kubeconfig", "", "context-file", named), Kubeconfig{Path: "/etc/fdai/kubeconfig", Input: "context-file#kubeconfig"}},
		"the input wins":         {with(good(), "kubeconfig", "/a/b", "context-file", named), Kubeconfig{Path: "/a/b", Input: "kubeconfig"}},
		"the content wins":       {with(good(), "kubeconfig", "", "kubeconfig-content", "kind: Config\n", "context-file", named), Kubeconfig{Content: []byte("kind: Config\n"), Input: "kubeconfig-content"}},
		"a path from the folder": {with(good(), "kubeconfig", "conf/../k"), Kubeconfig{Path: filepath.Join(here, "k"), Input: "kubeconfig"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Kubeconfig); diff != "" {
				t.Errorf("(-want +have)\n%s", diff)
			}
		})
	}
}

func TestReadWorkDir(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		uid  int
		env  map[string]string
		want string
	}{
		"root":                       {0, map[string]string{"HOME": "/github/home"}, "/var/lib/aks-oneshot"},
		"a user":                     {1000, map[string]string{"HOME": "/home/u"}, "/home/u/.local/state/aks-oneshot"},
		"a user with a state folder": {1000, map[string]string{"HOME": "/home/u", "XDG_STATE_HOME": "/srv/u"}, "/srv/u/aks-oneshot"},
		"a relative state folder":    {1000, map[string]string{"HOME": "/home/u", "XDG_STATE_HOME": "state"}, "/home/u/.local/state/aks-oneshot"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := good()
			got, err := Read(Source{
				UID:    c.uid,
				Lookup: func(name string) (string, bool) { v, ok := in[name]; return v, ok },
				Getenv: func(key string) string { return c.env[key] },
			})
			if err != nil || got.WorkDir != c.want {
				t.Errorf("have %q, %v; want %q", got.WorkDir, err, c.want)
			}
		})
	}
	in := good()
	_, err := Read(Source{
		UID:    1000,
		Lookup: func(name string) (string, bool) { v, ok := in[name]; return v, ok },
		Getenv: func(string) string { return "" },
	})
	if failure.CodeOf(err) != failure.ConfigInvalid || !strings.Contains(err.Error(), "work-dir: is missing") {
		t.Errorf("without a home: %v", err)
	}
}

// contextWith writes a changed context and returns its path.
func contextWith(t *testing.T, change func(contract.Object)) string {
	t.Helper()
	data, err := os.ReadFile("testdata/context.json")
	if err != nil {
		t.Fatal(err)
	}
	object, err := contract.ParseObject(data)
	if err != nil {
		t.Fatal(err)
	}
	change(object)
	data, err = contract.Canonical(object)
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, string(data))
}

func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "context.json")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestInputsCannotBeChangedFromOutside(t *testing.T) {
	t.Parallel()
	Inputs()[0].Name = "x"
	if name := Inputs()[0].Name; name != kubeconfig {
		t.Errorf("the first input is %q", name)
	}
}
