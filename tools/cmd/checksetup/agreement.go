package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"go.yaml.in/yaml/v3"
)

const (
	issuer   = "https://token.actions.githubusercontent.com"
	audience = "api://AzureADTokenExchange"
	// The role in Azure, by the name and by the id that it has in every tenant:
	// https://learn.microsoft.com/azure/role-based-access-control/built-in-roles/containers
	clusterUserRole   = "Azure Kubernetes Service Cluster User Role"
	clusterUserRoleID = "4abbcc35-e782-43d8-92c5-2d3f1bd2253f"
	// objectID stands in namespace.yaml for the identity's.
	objectID = "OBJECT_ID"
)

// access is what is granted in a cluster, and to whom.
type access struct {
	Rules   []rule
	RoleRef map[string]string
	Subject map[string]string
}

type rule struct{ APIGroups, Resources, Verbs []string }

// checkAgreement reports where the files do not set up the same.
func checkAgreement(f files, m *module, report reporter) {
	want, err := manifestAccess(f.namespace)
	if err != nil {
		report("namespace.yaml: %v", err)
		return
	}
	if m == nil {
		return
	}
	if have := m.access(); !reflect.DeepEqual(want, have) {
		report("federation.tf: grants %+v, namespace.yaml %+v", have, want)
	}
	_, applied, _ := strings.Cut(f.shell, "apply -f - <<EOF\n")
	applied, _, _ = strings.Cut(applied, "EOF\n")
	if strings.ReplaceAll(applied, "$object_id", objectID) != f.namespace {
		report("federation.sh: does not apply namespace.yaml")
	}
	quoted := func(s string) string { return `"` + s + `"` }
	for _, p := range []struct{ file, text, part string }{
		{"federation.sh", f.shell, "issuer=" + issuer + "\n"},
		{"federation.sh", f.shell, "audience=" + audience + "\n"},
		{"federation.sh", f.shell, "'" + clusterUserRole + "'"},
		{"federation.tf", f.terraform, quoted(issuer)},
		{"federation.tf", f.terraform, quoted(audience)},
		{"federation.tf", f.terraform, quoted(clusterUserRole)},
		{"federation.bicep", f.bicep, "'" + issuer + "'"},
		{"federation.bicep", f.bicep, "'" + audience + "'"},
		{"federation.bicep", f.bicep, "'" + clusterUserRoleID + "'"},
		// A name that is the same for two subjects replaces a credential.
		{"federation.sh", f.shell, `--name "$credential"`},
		{"federation.tf", f.terraform, "= local.credential_name\n"},
		{"federation.tf", f.terraform, quoted("aks-oneshot-${azurerm_user_assigned_identity.oneshot.principal_id}")},
		{"federation.bicep", f.bicep, "param credentialName string = 'aks-oneshot-${uniqueString(issuer, subject)}'\n"},
	} {
		if !strings.Contains(p.text, p.part) {
			report("%s: does not have %s", p.file, strings.TrimSpace(p.part))
		}
	}
}

// manifestAccess reads a Role and its RoleBinding.
func manifestAccess(text string) (access, error) {
	var a access
	type manifest struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   struct{ Name, Namespace string }
		Rules      []struct {
			APIGroups []string `yaml:"apiGroups"`
			Resources []string
			Verbs     []string
		}
		RoleRef  map[string]string `yaml:"roleRef"`
		Subjects []map[string]string
	}
	var kinds []string
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.KnownFields(true)
	for {
		var m manifest
		err := decoder.Decode(&m)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return a, err
		}
		// The Role is everybody's; each identity has a binding of its own.
		name := "aks-oneshot"
		if m.Kind != "Role" {
			name += "-" + objectID
		}
		if m.APIVersion != "rbac.authorization.k8s.io/v1" || m.Metadata.Name != name || m.Metadata.Namespace != "fdai-runtime" {
			return a, fmt.Errorf("%s %s in %s is not expected", m.APIVersion, m.Metadata.Name, m.Metadata.Namespace)
		}
		kinds = append(kinds, m.Kind)
		for _, r := range m.Rules {
			a.Rules = append(a.Rules, rule(r))
		}
		if m.Kind == "RoleBinding" && len(m.Subjects) == 1 {
			a.RoleRef, a.Subject = m.RoleRef, m.Subjects[0]
		}
	}
	if !slices.Equal(kinds, []string{"Role", "RoleBinding"}) || a.Subject == nil {
		return a, errors.New("is not a Role and a RoleBinding of it with one subject")
	}
	return a, nil
}

// access reads the Role and the RoleBinding of a module. What refers to another
// resource is taken for what namespace.yaml has there: that there is only one of
// each, and that the references lead to them, is checked elsewhere.
func (m *module) access() (a access) {
	manifestKey := map[string]string{"api_group": "apiGroup"}
	for name, body := range m.resources {
		for _, block := range body.Blocks {
			values := map[string][]string{}
			for key, attribute := range block.Body.Attributes {
				if renamed, ok := manifestKey[key]; ok {
					key = renamed
				}
				values[key] = literal(attribute.Expr)
			}
			one := map[string]string{}
			for key, value := range values {
				one[key] = strings.Join(value, ",")
			}
			switch {
			case strings.HasPrefix(name, "kubernetes_role_v1.") && block.Type == "rule":
				a.Rules = append(a.Rules, rule{values["api_groups"], values["resources"], values["verbs"]})
			case block.Type == "role_ref":
				a.RoleRef = one
			case block.Type == "subject":
				a.Subject = one
			}
		}
	}
	return a
}

// references of the module and what they are in namespace.yaml.
var references = map[string]string{
	"azurerm_user_assigned_identity.oneshot.principal_id": objectID,
	"kubernetes_role_v1.oneshot.metadata":                 "aks-oneshot",
}

// literal returns the strings of an expression that is one, or a list of them.
func literal(e hclsyntax.Expression) []string {
	if traversals := e.Variables(); len(traversals) == 1 {
		var path []string
		for _, step := range traversals[0][:min(3, len(traversals[0]))] {
			path = append(path, stepName(step))
		}
		return []string{references[strings.Join(path, ".")]}
	}
	value, diags := e.Value(nil)
	if diags.HasErrors() {
		return nil
	}
	if value.Type() == cty.String {
		return []string{value.AsString()}
	}
	var texts []string
	for it := value.ElementIterator(); it.Next(); {
		if _, item := it.Element(); item.Type() == cty.String {
			texts = append(texts, item.AsString())
		}
	}
	return texts
}
