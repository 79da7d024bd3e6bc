package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/test/e2e"
)

// testFlags are those of the tests that are run: with the race detector, in a
// random order, and anew.
var testFlags = []string{"-json", "-count=1", "-race", "-shuffle=on", "-timeout=20m"}

// failures runs the tests of what is on the way to a connection, and counts the
// texts that are kept of its failures. Some field cases are shown here.
func failures(ctx context.Context, t *tree) ([]line, error) {
	args := append([]string{"test"}, testFlags...)
	r, passed, err := t.results(ctx, "go", append(args, "./internal/azure/...", "./internal/kubeconfig/...",
		"./internal/network/...", "./internal/host/...", "./internal/config/...", "./internal/cluster/...", "./cmd/action/...", "./test/standin/...")...)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(t.root, "internal/azure/testdata/failures/*.txt"))
	if err != nil {
		return nil, err
	}
	t.units = r
	return append(r.lines("tests of the way to a connection", passed), goldenLine(r, files)), nil
}

// goldenLine compares the texts that are kept with the failures that were
// produced: every file by a test of its name that passed.
func goldenLine(r *results, files []string) line {
	compared, missing := 0, []string{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		if r.passed("internal/azure", "TestFailures/"+name) || r.passed("internal/azure", "TestFailuresOfTheProcess/"+name) {
			compared++
		} else {
			missing = append(missing, name)
		}
	}
	value := fmt.Sprintf("%d produced, %d texts compared", compared, len(files))
	if len(missing) > 0 {
		value += ", not produced: " + strings.Join(missing, " ")
	}
	return line{ok: len(files) > 60 && len(missing) == 0, figure: "failures by stand-ins", value: value, goal: "each text is one that was produced"}
}

// chain runs the built action from the id token to the end of the Job, with the
// real API server.
func chain(ctx context.Context, t *tree) ([]line, error) {
	args := append([]string{"-C", "test/e2e", "test"}, testFlags...)
	r, passed, err := t.results(ctx, "go", append(args, "-run", "^(TestOIDC.*|TestCasesNameTests)$", ".")...)
	if err != nil {
		return nil, err
	}
	lines := append(r.lines("end to end, with the real API server", passed), chainLines(r)...)
	if t.units != nil {
		for at, outcome := range t.units.outcome {
			r.outcome[at] = outcome
		}
		lines = append(lines, r.fieldCases(e2e.Credentials)...)
	}
	return lines, nil
}

const folder = "test/e2e"

var (
	tokensFigure = regexp.MustCompile(`^([0-9]+) id tokens, ([0-9]+) requests to Entra, ([0-9]+) id tokens shown twice, ([0-9]+) tokens used at the API server$`)
	scanFigure   = regexp.MustCompile(`^([0-9]+) runs, ([0-9]+) bytes, ([0-9]+) secrets issued, ([0-9]+) found$`)
)

// chainLines are what the end-to-end tests showed.
func chainLines(r *results) []line {
	var lines []line
	for _, c := range []struct{ what, test string }{
		{"GitHub's id token to a Job", "TestOIDCChain/github"},
		{"the same with a client certificate", "TestOIDCClientCertificate"},
		{"the same from Azure Pipelines", "TestOIDCChain/azure-pipelines"},
		{"the same by workload identity", "TestOIDCChain/workload-identity"},
		{"the same by a managed identity", "TestOIDCChain/managed-identity"},
		{"the same by az", "TestOIDCChain/azure-cli"},
		{"rounds before the first request", "TestOIDCRounds"},
		{"the printed Role and RoleBinding", "TestOIDCPrintedGrant"},
		{"proxy and NO_PROXY", "TestOIDCThroughAProxy"},
	} {
		value := c.test + " passed"
		ok := r.passed(folder, c.test)
		if !ok {
			value = c.test + " did not pass"
		}
		lines = append(lines, line{ok: ok, figure: c.what, value: value, goal: "passes"})
	}
	lines = append(lines, endToEndFailures(r))
	tokens := line{figure: "tokens of 20 s, a Job of 2 min", value: "not measured", goal: "an id token a request, none twice, more than one token used"}
	if value, ok := r.figures[tokens.figure]; ok {
		tokens.value = value
		m := tokensFigure.FindStringSubmatch(value)
		tokens.ok = m != nil && number(m[1]) == number(m[2]) && number(m[3]) == 0 && number(m[4]) > 1 &&
			r.passed(folder, "TestOIDCTokensOfTwentySeconds")
	}
	scan := line{figure: "scan for secrets", value: "not measured", goal: "0 found"}
	if value, ok := r.figures[scan.figure]; ok {
		scan.value = value
		m := scanFigure.FindStringSubmatch(value)
		scan.ok = m != nil && number(m[1]) > 30 && number(m[3]) > 100 && m[4] == "0"
	}
	return append(lines, tokens, scan)
}

// endToEndFailures counts the failures that the built action met, each with its
// kept message.
func endToEndFailures(r *results) line {
	good, bad := 0, 0
	for at, outcome := range r.outcome {
		if at.pkg != modulePath+"/"+folder || !strings.HasPrefix(at.name, "TestOIDCFailures/") {
			continue
		}
		if outcome == "pass" {
			good++
		} else {
			bad++
		}
	}
	return line{
		ok: good >= 10 && bad == 0, figure: "failures of the built action",
		value: fmt.Sprintf("%d as kept, %d not", good, bad), goal: "all as kept, nothing dispatched",
	}
}

// latency measures the way to the first request to Kubernetes.
func latency(ctx context.Context, t *tree) ([]line, error) {
	b, err := t.bench(ctx, "-parts=credentials")
	if err != nil {
		return nil, err
	}
	return latencyLines(b)
}

// latencyLines takes the benchmark's figures that are about signing in.
func latencyLines(b []byte) ([]line, error) { return figureLines(b, "sign_in") }

// figureLines takes the benchmark's figures whose names begin so.
func figureLines(b []byte, prefix string) ([]line, error) {
	var r benchResult
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("the benchmark's file cannot be read: %w", err)
	}
	var lines []line
	for _, f := range r.Figures {
		if !strings.HasPrefix(f.Name, prefix) {
			continue
		}
		l := line{ok: true, figure: f.Title, value: fmt.Sprintf("%.2f %s", f.Action.Value, f.Unit), goal: "measured"}
		if f.Ratio != nil {
			l.value += fmt.Sprintf(", %.2f of %s", *f.Ratio, beside(f.Name))
		}
		if f.Goal != nil {
			l.ok, l.goal = f.Goal.Met, f.Goal.Text
		}
		lines = append(lines, l)
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("the benchmark has no figure %s…", prefix)
	}
	return lines, nil
}

// beside is what a figure is compared with.
func beside(figure string) string {
	if strings.HasPrefix(figure, "stores_") {
		return "that without stores"
	}
	return "kubectl's with kubelogin"
}
