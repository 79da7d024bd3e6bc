package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"sigs.k8s.io/yaml"

	"github.com/aks-oneshot/aks-oneshot/internal/azure"
	"github.com/aks-oneshot/aks-oneshot/internal/config"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/host/terminal"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

func TestDefaultAuth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		env  map[string]string
		want azure.Auth
	}{
		{"GitHub", map[string]string{"GITHUB_ACTIONS": "true"}, azure.GitHub},
		{"a pod that runs GitHub's jobs", map[string]string{"GITHUB_ACTIONS": "true", "AZURE_FEDERATED_TOKEN_FILE": "/var/run/secrets/azure/tokens/t"}, azure.GitHub},
		{"Azure Pipelines", map[string]string{"TF_BUILD": "True"}, azure.Pipelines},
		{"a pod", map[string]string{"AZURE_FEDERATED_TOKEN_FILE": "/var/run/secrets/azure/tokens/t"}, azure.WorkloadIdentity},
		{"a terminal", nil, azure.CLI},
	} {
		have, because := defaultAuth(func(key string) string { return c.env[key] })
		if have != c.want || because == "" {
			t.Errorf("%s: signs in by %s (%q), want %s", c.name, have, because, c.want)
		}
	}
}

// The words that an input takes are the ones that mean something here.
func TestEveryWordOfAnInputMeansSomething(t *testing.T) {
	t.Parallel()
	for _, name := range []string{azure.PublicCloud, azure.GovernmentCloud, azure.ChinaCloud, "AzureGermanCloud"} {
		_, known := azure.CloudNamed(name)
		_, err := config.Read(config.Source{
			Lookup: func(input string) (string, bool) { return name, input == "environment" },
			Getenv: func(string) string { return "" },
		})
		if taken := !strings.Contains(err.Error(), "environment: "); taken != known {
			t.Errorf("environment %s is taken: %t, is known: %t", name, taken, known)
		}
	}
	ours := []azure.Auth{azure.GitHub, azure.Pipelines, azure.WorkloadIdentity, azure.ManagedIdentity, azure.CLI}
	theirs := []azure.Auth{config.AuthGitHub, config.AuthAzurePipelines, config.AuthWorkloadIdentity, config.AuthManagedIdentity, config.AuthAzureCLI}
	if !slices.Equal(ours, theirs) {
		t.Errorf("the inputs' ways to sign in are %v, the ones there are %v", theirs, ours)
	}
}

// A cloud that only the inputs know is an error, not the public cloud.
func TestCloudOfAnotherName(t *testing.T) {
	t.Parallel()
	s := &session{host: terminal.New(io.Discard, io.Discard, func(string) string { return "" })}
	_, err := s.connectAzure(t.Context(), &config.Azure{Auth: config.AuthAzureCLI, Environment: "AzureGermanCloud"})
	e, ok := errors.AsType[*failure.Error](err)
	if !ok || e.Code != failure.ConfigInvalid || e.Field != "environment" || !strings.Contains(e.Message, "AzureGermanCloud") {
		t.Errorf("the error is %v", err)
	}
}

// Each identity has a RoleBinding of its own, so that to grant the second one the
// Role does not take it from the first.
func TestGrantBindsTheRole(t *testing.T) {
	t.Parallel()
	for _, user := range []string{"0b8d3a4e-2a53-4a43-8c0e-5f7f3c2b1a90", "ada.lovelace+ops@example.onmicrosoft.com"} {
		s := &session{user: user}
		text := grant(s.grantee())
		if !strings.HasPrefix(text, role) {
			t.Fatalf("the Role is not in\n%s", text)
		}
		var have struct {
			Kind     string
			Metadata struct{ Name string }
			RoleRef  struct{ Kind, Name, APIGroup string }
			Subjects []struct{ Kind, Name, APIGroup string }
		}
		if err := yaml.Unmarshal([]byte(strings.TrimPrefix(text, role)), &have); err != nil {
			t.Fatal(err)
		}
		if have.Kind != "RoleBinding" || have.RoleRef.Kind != "Role" || have.RoleRef.Name != "aks-oneshot" || len(have.Subjects) != 1 ||
			have.Subjects[0].Kind != "User" || have.Subjects[0].Name != user {
			t.Errorf("the binding is %+v", have)
		}
		if name := have.Metadata.Name; name != "aks-oneshot-"+user || len(content.IsPathSegmentName(name)) > 0 {
			t.Errorf("the binding of %s is called %q", user, name)
		}
	}
}

// Nobody has checked a token's claims: what is no name of Entra's is not put into a
// manifest.
func TestGrantHoldsNothingElse(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "system:masters", "0b8d3a4e-2a53-4a43-8c0e-5f7f3c2b1a90\n  - kind: Group", "0B8D3A4E2A534A438C0E5F7F3C2B1A90", "1e2@example.com", "a@b: c", "a@b #c"} {
		s := &session{user: id}
		if text := grant(s.grantee()); text != role {
			t.Errorf("user %q gives\n%s", id, text)
		}
	}
	if text := grant((&session{}).grantee()); text != role {
		t.Errorf("without an identity:\n%s", text)
	}
}

// A Role in the cluster does not help against a refusal of Azure's.
func TestNoRoleIsShownForWhatAzureRefuses(t *testing.T) {
	t.Parallel()
	refused := failure.New(failure.PermissionDenied, "Azure Resource Manager answered HTTP 403")
	if needsRole(refused) {
		t.Error("a Role is shown")
	}
	call := &oneshot.CallError{Kind: oneshot.Denied, Status: http.StatusForbidden, Err: refused}
	if !needsRole(failure.New(failure.PermissionDenied, "%w", call)) {
		t.Error("no Role is shown for what the API server refuses")
	}
	denied := failure.New(failure.PermissionDenied, "%w", call).WithFix("Grant it")
	if have := pointedToRole(denied, true).Error(); !strings.HasSuffix(have, ". Apply the Role and RoleBinding that are printed in the log. Grant it") {
		t.Errorf("the advice is %s", have)
	}
	if wrapped := fmt.Errorf("running: %w", denied); !errors.Is(pointedToRole(wrapped, true), wrapped) {
		t.Error("a failure further down takes the place of what it is in")
	}
}

// A job without the permission is told so, whatever else is in the way.
func TestTheMissingPermissionIsToldFirst(t *testing.T) {
	t.Parallel()
	s := newStep(t, newAPIServer(t, complete))
	for name, value := range map[string]string{
		"KUBECONFIG": "", "CLIENT-ID": "cccccccc-dddd-eeee-ffff-000000000000", "RESOURCE-GROUP": "example-rg", "CLUSTER-NAME": "example",
		"AUTHORITY-HOST": "https://127.0.0.1:1", "RESOURCE-MANAGER-ENDPOINT": "https://127.0.0.1:1",
	} {
		s.env["INPUT_"+name] = value
	}
	e := s.run(t.Context(), t)
	e.expect(t, 3, "outcome", "refused", "reason", "credential-failed", "dispatched", "false")
	e.expectError(t, "credential-failed", "so the job does not have the permission id-token: write")
	if strings.Contains(e.log, "127.0.0.1:1") {
		t.Errorf("Entra was asked:\n%s", e.log)
	}
}

// A kubeconfig that is one way too many is read all the same: another input may
// repeat a secret of it.
func TestSecretsOfAKubeconfigBesideAzureAreHidden(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, complete)
	s := newStep(t, server)
	s.env["INPUT_CLIENT-ID"] = "33333333-4444-5555-6666-777777777777"
	s.env["INPUT_RESOURCE-GROUP"], s.env["INPUT_CLUSTER-NAME"] = "example-rg", "example"
	s.env["INPUT_ARGS"] = "--token=" + token
	e := s.run(t.Context(), t)
	e.expect(t, 2, "reason", "config-invalid")
	s.expectUntouched(t, server)
	if shown := e.raw + e.summary; strings.Contains(shown, token) {
		t.Errorf("the token is shown:\n%s", shown)
	}
	for line := range strings.Lines(e.log) {
		if strings.Contains(line, token) && !strings.HasPrefix(line, "::add-mask::") {
			t.Errorf("the token is shown: %s", line)
		}
	}
	if !strings.Contains(e.log, "::add-mask::"+token) {
		t.Errorf("the token is not masked\n%s", e.log)
	}
}
