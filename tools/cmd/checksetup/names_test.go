package main

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// credentialName is what Azure takes as the name of a federated credential:
// https://learn.microsoft.com/rest/api/managedidentity/federated-identity-credentials/create-or-update
var credentialName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9-_]{2,119}$`)

// Whatever an environment is called, the subject is the one that GitHub gives it,
// and the credential has a name that Azure takes and no other subject has: to
// create one under a name that is taken replaces the one that has it.
func TestCredentialsHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	const repo, another, immutable = "repo:octo-org/octo-repo", "repo:octo-org/octo-repo-2", "repo:octo-org@123456/octo-repo@456789"
	seen := map[string]string{}
	for _, tc := range []struct{ prefix, environment, subject string }{
		{repo, "qa", repo + ":environment:qa"},
		{another, "qa", another + ":environment:qa"},
		{immutable, "qa", immutable + ":environment:qa"},
		{repo, "prod eu", repo + ":environment:prod eu"},
		{repo, "prod-eu", repo + ":environment:prod-eu"},
		{repo, "a.b", repo + ":environment:a.b"},
		{repo, "a-b", repo + ":environment:a-b"},
		{repo, "a:b", repo + ":environment:a%3Ab"},
		{repo, "a/b", repo + ":environment:a/b"},
		{repo, "A/b", repo + ":environment:A/b"},
		{repo, "produção", repo + ":environment:produção"},
		{repo, "生産", repo + ":environment:生産"},
		{repo, strings.Repeat("a", 254) + "1", repo + ":environment:" + strings.Repeat("a", 254) + "1"},
		{repo, strings.Repeat("a", 254) + "2", repo + ":environment:" + strings.Repeat("a", 254) + "2"},
	} {
		out, record, err := runScript(t, tc.prefix, tc.environment)
		if err != nil {
			t.Fatalf("%s: %v\n%s", tc.environment, err, out)
		}
		if want := "<--subject> <" + tc.subject + "> "; !strings.Contains(record, want) {
			t.Errorf("was not asked for: %s\n%s", want, record)
		}
		_, name, _ := strings.Cut(record, "<--identity-name> <aks-oneshot-octo-repo-production> <--name> <")
		name, _, _ = strings.Cut(name, ">")
		if !credentialName.MatchString(name) {
			t.Errorf("%s: Azure does not take the name %q", tc.subject, name)
		}
		if other, taken := seen[strings.ToLower(name)]; taken {
			t.Errorf("%s and %s have the name %s", tc.subject, other, name)
		}
		seen[strings.ToLower(name)] = tc.subject
		if have := terraformName(t, tc.subject); have != name {
			t.Errorf("%s is called %s by the script, and %s by the module", tc.subject, name, have)
		}
	}
	// As a run calls them that tells of a missing one.
	for _, name := range []string{
		"repo-octo-org-octo-repo-environment-a-3Ab-bdef1d3d",
		"repo-octo-org-octo-repo-environment-aaaaaaaaaaaaaaaaaaaaaaaa-8e9b81b5",
	} {
		if seen[strings.ToLower(name)] == "" {
			t.Errorf("none is called %s:\n%v", name, seen)
		}
	}
}

// terraformName is what the module calls the credential for a subject.
func terraformName(t *testing.T, subject string) string {
	t.Helper()
	file, diags := hclsyntax.ParseConfig([]byte(read(t, setup+"/federation.tf")), "federation.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, block := range file.Body.(*hclsyntax.Body).Blocks {
		if block.Type != "locals" {
			continue
		}
		value, diags := block.Body.Attributes["credential_name"].Expr.Value(&hcl.EvalContext{
			Variables: map[string]cty.Value{"var": cty.ObjectVal(map[string]cty.Value{"subject": cty.StringVal(subject)})},
			Functions: functions,
		})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		return value.AsString()
	}
	t.Fatal("the module has no locals")
	return ""
}

// functions are Terraform's, as far as the name takes them: replace has a regular
// expression between slashes, as all that are used here.
var functions = map[string]function.Function{
	"trim":   stdlib.TrimFunc,
	"substr": stdlib.SubstrFunc,
	"replace": ofStrings(3, func(s []string) string {
		return regexp.MustCompile(strings.Trim(s[1], "/")).ReplaceAllString(s[0], s[2])
	}),
	"sha256": ofStrings(1, func(s []string) string {
		sum := sha256.Sum256([]byte(s[0]))
		return hex.EncodeToString(sum[:])
	}),
}

func ofStrings(n int, f func([]string) string) function.Function {
	spec := &function.Spec{Type: function.StaticReturnType(cty.String)}
	for range n {
		spec.Params = append(spec.Params, function.Parameter{Name: "text", Type: cty.String})
	}
	spec.Impl = func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		texts := make([]string, len(args))
		for i, a := range args {
			texts[i] = a.AsString()
		}
		return cty.StringVal(f(texts)), nil
	}
	return function.New(spec)
}
