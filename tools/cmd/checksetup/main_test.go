package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const setup = "../../../docs/setup"

func TestSetupFilesHaveNoFindings(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if findings, err := check(setup, &out, io.Discard); findings > 0 || err != nil {
		t.Errorf("%d findings, %v\n%s", findings, err, &out)
	}
}

// What a slip in one of the files is answered with.
func TestSlipsAreFound(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		file, old, new string
		want           string // the one finding, or its begin
	}{
		{"federation.tf", "subscription_id = var.subscription_id\n}", "subscription_id = var.subscription_id\n", "federation.tf:80: Unclosed"},
		{"federation.tf", `"azurerm_role_assignment" "may_look_up"`, `"azurerm_roles_assignment" "may_look_up"`, "federation.tf:104: the resource azurerm_roles_assignment is not in the list"},
		{"federation.tf", "user_assigned_identity_id =", "parent_id =", "federation.tf:98: azurerm_federated_identity_credential has no argument parent_id"},
		{"federation.tf", "  principal_type       = \"ServicePrincipal\"\n", "  principal_kind       = \"ServicePrincipal\"\n", "federation.tf:108: azurerm_role_assignment has no argument principal_kind"},
		{"federation.tf", "  location            = var.location\n", "", "federation.tf:90: azurerm_user_assigned_identity lacks the argument location"},
		{"federation.tf", "scope                = local.cluster_id", "scope                = local.clusterid", "federation.tf:105: local.clusterid leads nowhere"},
		{"federation.tf", "= azurerm_user_assigned_identity.oneshot.client_id", "= azurerm_user_assigned_identity.oneshot.clientid", "has no attribute clientid"},
		{"federation.tf", "= azurerm_user_assigned_identity.oneshot.client_id", "= azurerm_user_assigned_identity.oneshot", "is a whole resource"},
		{"federation.tf", "= azurerm_user_assigned_identity.oneshot.client_id", "= data.azurerm_client_config.me.client_id", "leads nowhere"},
		{"federation.tf", "audience                  = [var.audience]", `audience                  = ["api://else"]`, "var.audience is not used"},
		{"federation.tf", `provider "kubernetes" {`, `provider "helm" {`, "the provider helm has to be both"},
		{"federation.tf", "locals {", "moved {", "a block moved with 0 labels"},
		{"federation.tf", `variable "issuer" {`, `variable "audience" {`, "var.audience is declared twice"},
		{"federation.tf", "  role_ref {\n", "  roles {\n", "has no block roles"},
		{"federation.tf", `"list", "watch", "create"]`, `"list", "watch", "create", "delete"]`, "federation.tf: grants"},
		{"federation.tf", "name      = azurerm_user_assigned_identity.oneshot.principal_id", "name      = azurerm_user_assigned_identity.oneshot.client_id", "federation.tf: grants"},
		{"federation.tf", "Cluster User Role", "Cluster Admin Role", "federation.tf: does not have"},

		{"federation.tf", `"aks-oneshot-${azurerm_user_assigned_identity.oneshot.principal_id}"`, `"aks-oneshot"`, "federation.tf: does not have"},

		{"federation.bicep", "2d3f1bd2253f", "2d3f1bd2253e", "federation.bicep: does not have"},
		{"federation.bicep", "'aks-oneshot-${uniqueString(issuer, subject)}'", "'production'", "federation.bicep: does not have"},

		{"federation.sh", "    verbs: [get]", "    verbs: [get, delete]", "federation.sh: does not apply namespace.yaml"},
		{"federation.sh", "name: $object_id", "name: $client_id", "federation.sh: does not apply namespace.yaml"},
		{"federation.sh", "'Azure Kubernetes Service Cluster User Role'", "Owner", "federation.sh: does not have"},
		{"namespace.yaml", "kind: RoleBinding", "kind: Rolebinding", "namespace.yaml: is not a Role and a RoleBinding"},
		{"namespace.yaml", "roleRef:", "roleref:", "namespace.yaml: yaml: unmarshal errors: line 25: field roleref"},
		{"namespace.yaml", "namespace: fdai-runtime", "namespace: default", "namespace.yaml: rbac.authorization.k8s.io/v1"},
	} {
		t.Run(tc.file+" "+tc.new, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			for _, name := range []string{"federation.sh", "federation.bicep", "federation.tf", "namespace.yaml"} {
				text := read(t, filepath.Join(setup, name))
				if name == tc.file {
					changed := strings.Replace(text, tc.old, tc.new, 1)
					if changed == text {
						t.Fatalf("%s has no %q", name, tc.old)
					}
					text = changed
				}
				if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			findings, err := check(folder, &out, io.Discard)
			if err != nil || findings == 0 || strings.Count(out.String(), "\n") != findings || !strings.Contains(out.String(), tc.want) {
				t.Errorf("%d findings, %v\n%swant one with %q", findings, err, &out, tc.want)
			}
		})
	}
}

func TestCheckElsewhere(t *testing.T) {
	t.Parallel()
	if findings, err := check(t.TempDir(), &bytes.Buffer{}, io.Discard); err == nil {
		t.Errorf("an empty folder has %d findings and no error", findings)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
