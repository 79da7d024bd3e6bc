package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// resource is what the documentation of a provider says of one of its resources,
// or of a block in one: which arguments it has to have and may have, what it
// exports besides, and the blocks that it has to have.
type resource struct {
	required, optional, exports []string
	blocks                      map[string]resource
}

var (
	metadata = resource{required: []string{"name", "namespace"}, optional: []string{"annotations", "labels"}}
	// https://registry.terraform.io/providers/hashicorp/azurerm/5.12.0/docs and
	// https://registry.terraform.io/providers/hashicorp/kubernetes/latest/docs. Of
	// the optional arguments only those that a setup could want.
	resources = map[string]resource{
		"azurerm_user_assigned_identity": {
			required: []string{"name", "resource_group_name", "location"},
			optional: []string{"tags"},
			exports:  []string{"id", "principal_id", "client_id", "tenant_id"},
		},
		"azurerm_federated_identity_credential": {
			required: []string{"name", "user_assigned_identity_id", "audience", "issuer", "subject"},
			exports:  []string{"id"},
		},
		"azurerm_role_assignment": {
			required: []string{"scope", "role_definition_name", "principal_id"},
			optional: []string{"principal_type", "description", "skip_service_principal_aad_check"},
			exports:  []string{"id"},
		},
		"kubernetes_role_v1": {blocks: map[string]resource{
			"metadata": metadata,
			"rule":     {required: []string{"api_groups", "resources", "verbs"}, optional: []string{"resource_names"}},
		}},
		"kubernetes_role_binding_v1": {blocks: map[string]resource{
			"metadata": metadata,
			"role_ref": {required: []string{"api_group", "kind", "name"}},
			"subject":  {required: []string{"kind", "name"}, optional: []string{"api_group", "namespace"}},
		}},
	}
)

// module is a Terraform module of one file.
type module struct {
	name   string
	report reporter
	// resources are the bodies by type and name; declared are the names that an
	// expression may refer to, and whether one does.
	resources map[string]*hclsyntax.Body
	declared  map[string]bool
	providers map[string]int // a provider is required, and configured
}

// checkTerraform reports what is wrong with a module, and returns it for further
// checks, nil where it could not be read.
func checkTerraform(name, text string, report reporter) *module {
	m := &module{name: name, report: report, resources: map[string]*hclsyntax.Body{}, declared: map[string]bool{}, providers: map[string]int{}}
	file, diags := hclsyntax.ParseConfig([]byte(text), name, hcl.InitialPos)
	if diags.HasErrors() {
		for _, d := range diags {
			report("%s:%d: %s %s", name, d.Subject.Start.Line, d.Summary, d.Detail)
		}
		return nil
	}
	body, _ := file.Body.(*hclsyntax.Body)
	for _, attribute := range body.Attributes {
		m.wrong(attribute.SrcRange, "%s: only blocks are at the top of a module", attribute.Name)
	}
	for _, block := range body.Blocks {
		m.declare(block)
	}
	m.references(body)
	for _, name := range slices.Sorted(maps.Keys(m.declared)) {
		if (strings.HasPrefix(name, "var.") || strings.HasPrefix(name, "local.")) && !m.declared[name] {
			report("%s: %s is not used", m.name, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.providers)) {
		if m.providers[name] != 2 {
			report("%s: the provider %s has to be both required and configured, once", m.name, name)
		}
	}
	return m
}

func (m *module) wrong(at hcl.Range, format string, args ...any) {
	m.report("%s:%d: "+format, append([]any{m.name, at.Start.Line}, args...)...)
}

// labels are how many labels the blocks at the top of a module have.
var labels = map[string]int{"terraform": 0, "locals": 0, "variable": 1, "provider": 1, "output": 1, "resource": 2}

// declare checks a block at the top of the module, and remembers what it declares.
func (m *module) declare(block *hclsyntax.Block) {
	if n, known := labels[block.Type]; !known || n != len(block.Labels) {
		m.wrong(block.TypeRange, "a block %s with %d labels is not expected here", block.Type, len(block.Labels))
		return
	}
	switch block.Type {
	case "terraform":
		for _, inner := range block.Body.Blocks {
			for name := range inner.Body.Attributes {
				m.providers[name]++
			}
		}
	case "provider":
		m.providers[block.Labels[0]]++
	case "variable":
		m.add(block.TypeRange, "var."+block.Labels[0])
		m.arguments(block, resource{required: []string{"description", "type"}, optional: []string{"default"}})
	case "output":
		m.arguments(block, resource{required: []string{"value"}, optional: []string{"description"}})
	case "locals":
		for name, attribute := range block.Body.Attributes {
			m.add(attribute.SrcRange, "local."+name)
		}
	case "resource":
		name := strings.Join(block.Labels, ".")
		m.add(block.TypeRange, name)
		m.resources[name] = block.Body
		if known, ok := resources[block.Labels[0]]; ok {
			m.arguments(block, known)
		} else {
			m.wrong(block.TypeRange, "the resource %s is not in the list", block.Labels[0])
		}
		provider, _, _ := strings.Cut(block.Labels[0], "_")
		m.providers[provider] += 0
	}
}

func (m *module) add(at hcl.Range, name string) {
	if _, there := m.declared[name]; there {
		m.wrong(at, "%s is declared twice", name)
	}
	m.declared[name] = false
}

// arguments holds a block to what is known of it.
func (m *module) arguments(block *hclsyntax.Block, known resource) {
	what := block.Type
	if len(block.Labels) > 0 {
		what = block.Labels[0]
	}
	for name, attribute := range block.Body.Attributes {
		if !slices.Contains(known.required, name) && !slices.Contains(known.optional, name) {
			m.wrong(attribute.SrcRange, "%s has no argument %s", what, name)
		}
	}
	for _, name := range known.required {
		if block.Body.Attributes[name] == nil {
			m.wrong(block.TypeRange, "%s lacks the argument %s", what, name)
		}
	}
	seen := map[string]bool{}
	for _, inner := range block.Body.Blocks {
		seen[inner.Type] = true
		if shape, ok := known.blocks[inner.Type]; ok {
			m.arguments(inner, shape)
		} else {
			m.wrong(inner.TypeRange, "%s has no block %s", what, inner.Type)
		}
	}
	for name := range known.blocks {
		if !seen[name] {
			m.wrong(block.TypeRange, "%s lacks the block %s", what, name)
		}
	}
}

// references checks that every name in an expression below body was declared,
// and that a resource has what is wanted of it.
func (m *module) references(body *hclsyntax.Body) {
	for _, attribute := range body.Attributes {
		for _, traversal := range attribute.Expr.Variables() {
			m.reference(traversal)
		}
	}
	for _, block := range body.Blocks {
		// What a variable's type is, and where a provider is from, are no references.
		if block.Type != "variable" && block.Type != "terraform" {
			m.references(block.Body)
		}
	}
}

func (m *module) reference(traversal hcl.Traversal) {
	var path []string
	for _, step := range traversal {
		if name := stepName(step); name != "" {
			path = append(path, name)
		}
	}
	name := strings.Join(path[:min(2, len(path))], ".")
	if _, there := m.declared[name]; !there {
		m.wrong(traversal.SourceRange(), "%s leads nowhere", strings.Join(path, "."))
		return
	}
	m.declared[name] = true
	known, isResource := resources[path[0]]
	if !isResource {
		return
	}
	if len(path) < 3 {
		m.wrong(traversal.SourceRange(), "%s is a whole resource, not a value", name)
		return
	}
	_, isBlock := known.blocks[path[2]]
	if !isBlock && !slices.Contains(slices.Concat(known.required, known.optional, known.exports), path[2]) {
		m.wrong(traversal.SourceRange(), "%s has no attribute %s", path[0], path[2])
	}
}

// stepName is the name in one step of a reference, "" of an index.
func stepName(step hcl.Traverser) string {
	switch step := step.(type) {
	case hcl.TraverseRoot:
		return step.Name
	case hcl.TraverseAttr:
		return step.Name
	}
	return ""
}
