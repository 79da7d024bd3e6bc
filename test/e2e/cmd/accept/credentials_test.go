package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// events is what go test -json prints of tests of one package.
func events(pkg, action string, names ...string) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, `{"Action":"%s","Package":"%s/%s","Test":"%s"}`+"\n", action, modulePath, pkg, name)
	}
	return b.String()
}

// taken reads events.
func taken(t *testing.T, all ...string) *results {
	t.Helper()
	var shown bytes.Buffer
	r := newResults(&shown)
	if err := r.read(strings.NewReader(strings.Join(all, ""))); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestGoldenLine(t *testing.T) {
	t.Parallel()
	var files, names []string
	for n := range 61 {
		files = append(files, fmt.Sprintf("/tree/failures/f%d.txt", n))
		names = append(names, fmt.Sprintf("TestFailures/f%d", n))
	}
	const pkg = "internal/azure"
	for _, c := range []struct {
		what string
		r    *results
		want string
	}{
		{"all", taken(t, events(pkg, "pass", names...)), "true failures by stand-ins: 61 produced, 61 texts compared"},
		{
			"one of a process", taken(t, events(pkg, "pass", names[1:]...), events(pkg, "pass", "TestFailuresOfTheProcess/f0")),
			"true failures by stand-ins: 61 produced, 61 texts compared",
		},
		{
			"one failed", taken(t, events(pkg, "pass", names[1:]...), events(pkg, "fail", names[0])),
			"false failures by stand-ins: 60 produced, 61 texts compared, not produced: f0",
		},
		{
			"another package's", taken(t, events(pkg, "pass", names[1:]...), events("internal/cluster", "pass", names[0])),
			"false failures by stand-ins: 60 produced, 61 texts compared, not produced: f0",
		},
	} {
		if have := verdicts([]line{goldenLine(c.r, files)}); have != c.want {
			t.Errorf("%s: %s, want %s", c.what, have, c.want)
		}
	}
	if goldenLine(taken(t), nil).ok {
		t.Error("no text is good")
	}
}

// endToEndEvents is a run of the end-to-end tests in which all is well.
func endToEndEvents() string {
	names := []string{
		"TestOIDCChain/github", "TestOIDCClientCertificate", "TestOIDCChain/azure-pipelines", "TestOIDCChain/workload-identity",
		"TestOIDCChain/managed-identity", "TestOIDCChain/azure-cli", "TestOIDCRounds", "TestOIDCPrintedGrant", "TestOIDCThroughAProxy",
		"TestOIDCTokensOfTwentySeconds",
	}
	for n := range 10 {
		names = append(names, fmt.Sprintf("TestOIDCFailures/f%d", n))
	}
	figure := func(text string) string {
		return fmt.Sprintf(`{"Action":"output","Package":"%s/test/e2e","Output":"figure: %s\n"}`+"\n", modulePath, text)
	}
	return events("test/e2e", "pass", names...) +
		figure("tokens of 20 s, a Job of 2 min: 5 id tokens, 5 requests to Entra, 0 id tokens shown twice, 4 tokens used at the API server") +
		figure("scan for secrets: 60 runs, 110781 bytes, 196 secrets issued, 0 found")
}

func TestChainLines(t *testing.T) {
	t.Parallel()
	all := endToEndEvents()
	for name, c := range map[string]struct{ old, new, failed string }{
		"good":             {"", "", ""},
		"chain":            {`"TestOIDCChain/github"`, `"TestOther"`, "GitHub's id token to a Job"},
		"failure":          {`"pass","Package":"` + modulePath + `/test/e2e","Test":"TestOIDCFailures/f1"`, `"fail","Package":"` + modulePath + `/test/e2e","Test":"TestOIDCFailures/f1"`, "failures of the built action"},
		"too few failures": {`"TestOIDCFailures/f1"`, `"TestOther"`, "failures of the built action"},
		"reused id token":  {"0 id tokens shown twice", "1 id tokens shown twice", "tokens of 20 s, a Job of 2 min"},
		"one more request": {"5 requests to Entra", "6 requests to Entra", "tokens of 20 s, a Job of 2 min"},
		"one token":        {"4 tokens used", "1 tokens used", "tokens of 20 s, a Job of 2 min"},
		"no figure":        {"figure: tokens", "tokens", "tokens of 20 s, a Job of 2 min"},
		"leak":             {"0 found", "1 found", "scan for secrets"},
		"ten leaks":        {"0 found", "10 found", "scan for secrets"},
		"nothing scanned":  {"60 runs", "0 runs", "scan for secrets"},
		"no scan":          {"figure: scan", "scan", "scan for secrets"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := all
			if c.old != "" {
				if text = strings.Replace(all, c.old, c.new, 1); text == all {
					t.Fatalf("%q is not in the events", c.old)
				}
			}
			var failed []string
			for _, l := range chainLines(taken(t, text)) {
				if !l.ok {
					failed = append(failed, l.figure)
				}
			}
			if have := strings.Join(failed, ", "); have != c.failed {
				t.Errorf("what does not hold: %q, want %q", have, c.failed)
			}
		})
	}
}

func TestLatencyLines(t *testing.T) {
	t.Parallel()
	const file = `{"figures": [
	{"name": "run_requests", "title": "requests", "unit": "requests", "aks_oneshot": {"value": 5}},
	{"name": "sign_in", "title": "sign-in", "unit": "ms", "aks_oneshot": {"value": 80.5}, "ratio": 0.32},
	{"name": "sign_in_delays", "title": "delays", "unit": "delays", "aks_oneshot": {"value": 3.6},
	 "goal": {"text": "at most 4", "of": "value", "met": true}}
]}`
	lines, err := latencyLines([]byte(file))
	const want = "true sign-in: 80.50 ms, 0.32 of kubectl's with kubelogin\ntrue delays: 3.60 delays"
	if have := verdicts(lines); have != want || err != nil {
		t.Errorf("the lines are\n%s, %v\nwant\n%s", have, err, want)
	}
	lines, err = latencyLines([]byte(strings.Replace(file, `"met": true`, `"met": false`, 1)))
	if err != nil || lines[1].ok {
		t.Errorf("a goal that is not met gives %v, %v", lines, err)
	}
	for _, bad := range []string{"", "{}", `{"figures": []}`} {
		if _, err := latencyLines([]byte(bad)); err == nil {
			t.Errorf("%q is no error", bad)
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	all, err := choose("credentials", "")
	if err != nil || len(all) != len(suites["credentials"]) {
		t.Errorf("a suite is %v, %v", all, err)
	}
	some, err := choose("credentials", "latency,size")
	if err != nil || len(some) != 2 || some[0].name != "size" || some[1].name != "latency" {
		t.Errorf("two checks are %v, %v", some, err)
	}
}
