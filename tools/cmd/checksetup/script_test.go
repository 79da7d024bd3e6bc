package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fake is az, gh and kubectl: it writes down what it is asked, and kubectl also
// what it is to apply.
const fake = `#!/bin/sh
printf '%s' "${0##*/}" >> "$RECORD"
printf ' <%s>' "$@" >> "$RECORD"
echo >> "$RECORD"
case "${0##*/} $*" in
gh*environments*) printf '%s\n' another "$ENVIRONMENT" ;;
*" get namespace fdai-runtime") exit "$NAMESPACE" ;;
gh*) printf '%s\n' "$PREFIX" ;;
*clientId*) echo CLIENT ;;
*principalId*) echo OBJECT ;;
*tenantId*) echo TENANT ;;
*"aks show"*) echo /CLUSTER/ID ;;
kubectl*) cat >> "$RECORD" ;;
esac
`

// The script asks for what the page says it sets up, in the form of subject that
// GitHub says the repository has.
func TestScriptSetsUpTheChain(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"repo:octo-org/octo-repo", "repo:octo-org@123456/octo-repo@456789"} {
		t.Run(prefix, func(t *testing.T) {
			t.Parallel()
			out, record, err := runScript(t, prefix, "production")
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, want := range []string{
				"gh <api> <repos/octo-org/octo-repo/actions/oidc/customization/sub>",
				"az <identity> <create> <--subscription> <11111111-2222-3333-4444-555555555555> <--resource-group> <example-rg> <--name> <aks-oneshot-octo-repo-production>",
				"<--issuer> <https://token.actions.githubusercontent.com> <--subject> <" + prefix + ":environment:production> <--audiences> <api://AzureADTokenExchange>",
				"az <role> <assignment> <create> <--assignee-object-id> <OBJECT> <--assignee-principal-type> <ServicePrincipal> <--scope> </CLUSTER/ID> <--role> <Azure Kubernetes Service Cluster User Role>",
				"kubectl <--context> <example> <apply> <-f> <->\n" + strings.ReplaceAll(read(t, filepath.Join(setup, "namespace.yaml")), objectID, "OBJECT"),
			} {
				if !strings.Contains(record, want) {
					t.Errorf("was not asked for: %s\n%s", want, record)
				}
			}
			for _, want := range []string{"tenant-id: TENANT", "client-id: CLIENT", "resource-group: example-rg", "cluster-name: example"} {
				if !strings.Contains(out, "  "+want+"\n") {
					t.Errorf("does not print %s\n%s", want, out)
				}
			}
		})
	}
}

// A repository whose subjects are of its own making cannot be guessed: nothing is
// set up then.
func TestScriptStopsWhereTheSubjectIsNotKnown(t *testing.T) {
	t.Parallel()
	out, record, err := runScript(t, "", "production")
	if err == nil || !strings.Contains(out, "set subject by hand") || strings.Contains(record, "az ") || strings.Contains(record, "apply") {
		t.Errorf("%v\n%s%s", err, out, record)
	}
}

// What has to be there first is looked for before anything is set up: a namespace for
// the Role, and an environment with its rules.
func TestScriptStopsWhereSomethingIsMissing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ variable, want string }{
		{"NAMESPACE=1", "finds no namespace fdai-runtime by the context example"},
		{"ENVIRONMENT=production-eu", "octo-org/octo-repo has no environment production: make it first"},
	} {
		out, record, err := runScript(t, "repo:octo-org/octo-repo", "production", tc.variable)
		if err == nil || !strings.Contains(out, tc.want) || strings.Contains(record, "az ") || strings.Contains(record, "apply") {
			t.Errorf("%s: %v\n%s%s", tc.variable, err, out, record)
		}
	}
}

// runScript runs the script for an environment of a repository whose subjects begin
// with prefix. Both the environment and the namespace are there, unless more
// variables say something else.
func runScript(t *testing.T, prefix, environment string, more ...string) (out, record string, err error) {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"az", "gh", "kubectl"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(fake), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(folder, "record")
	const given = "environment=production\n"
	script := read(t, filepath.Join(setup, "federation.sh"))
	if !strings.Contains(script, given) {
		t.Fatalf("the script has no %s", given)
	}
	script = strings.Replace(script, given, "environment='"+environment+"'\n", 1)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Env = append([]string{"PATH=" + folder + ":/usr/bin:/bin", "RECORD=" + file, "PREFIX=" + prefix,
		"ENVIRONMENT=" + environment, "NAMESPACE=0"}, more...)
	printed, err := cmd.CombinedOutput()
	return string(printed), read(t, file), err
}
