package main

import (
	"errors"
	"slices"
	"strings"
)

// bicepType is what Azure's reference says of a resource's type in a version: the
// properties that it has to have and may have, and those that it tells.
//
// https://learn.microsoft.com/azure/templates/
type bicepType struct {
	child                     bool // it has a parent
	extension                 bool // it has a scope
	location                  bool
	required, optional, tells []string
}

var (
	bicepTypes = map[string]bicepType{
		"Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30": {
			location: true, optional: []string{"isolationScope"}, tells: []string{"tenantId", "clientId", "principalId"},
		},
		"Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials@2024-11-30": {
			child: true, required: []string{"issuer", "subject", "audiences"},
		},
		// Only ever an existing one.
		"Microsoft.ContainerService/managedClusters@2025-09-01": {location: true},
		"Microsoft.Authorization/roleAssignments@2022-04-01": {
			extension: true, required: []string{"principalId", "roleDefinitionId"},
			optional: []string{"principalType", "description", "condition", "conditionVersion"},
		},
	}
	bicepFunctions = []string{"description", "guid", "resourceGroup", "subscriptionResourceId"}
	scalars        = []string{"string", "int", "bool"}
)

// bicepFile is a file that could be read.
type bicepFile struct {
	report reporter
	name   string
	// symbols are what was declared; used are those that something refers to.
	symbols map[string]statement
	used    map[string]bool
}

// checkBicep reports what is wrong with a Bicep file.
func checkBicep(name, text string, report reporter) {
	statements, err := parseBicep(text)
	if failed, ok := errors.AsType[*bicepError](err); ok {
		report("%s:%d: %s", name, failed.line, failed.reason)
		return
	}
	f := &bicepFile{report: report, name: name, symbols: map[string]statement{}, used: map[string]bool{}}
	for _, s := range statements {
		if s.keyword == "targetScope" || s.keyword == "output" {
			continue
		}
		if _, there := f.symbols[s.name]; there {
			report("%s:%d: %s is declared twice", name, s.line, s.name)
		}
		f.symbols[s.name] = s
	}
	for _, s := range statements {
		f.statement(s)
	}
	for _, s := range statements {
		if (s.keyword == "param" || s.keyword == "var") && !f.used[s.name] {
			report("%s:%d: %s is not used", name, s.line, s.name)
		}
	}
}

func (f *bicepFile) statement(s statement) {
	for _, d := range s.decorators {
		f.expression(d)
	}
	if s.value != nil {
		f.expression(*s.value)
	}
	switch s.keyword {
	case "param", "output":
		if !slices.Contains(scalars, s.typ) {
			f.report("%s:%d: %s is no type", f.name, s.line, s.typ)
		}
	case "resource":
		f.resource(s)
	}
}

// resource holds a resource to its type.
func (f *bicepFile) resource(s statement) {
	typ, known := bicepTypes[s.typ]
	if !known {
		f.report("%s:%d: the type %s is not in the list", f.name, s.line, s.typ)
		return
	}
	top := []string{"name"}
	for key, has := range map[string]bool{
		"parent": typ.child, "scope": typ.extension, "location": typ.location && !s.existing,
		"properties": len(typ.required) > 0 && !s.existing,
	} {
		if has {
			top = append(top, key)
		}
	}
	f.keys(s.line, s.name, s.value, top, nil)
	if properties := s.value.property("properties"); properties != nil {
		f.keys(properties.line, s.name, properties, typ.required, typ.optional)
	}
}

func (f *bicepFile) keys(line int, name string, object *expression, required, optional []string) {
	for i, key := range object.keys {
		switch {
		case slices.Contains(object.keys[:i], key):
			f.report("%s:%d: %s has %s twice", f.name, object.items[i].line, name, key)
		case !slices.Contains(required, key) && !slices.Contains(optional, key):
			f.report("%s:%d: %s has no property %s", f.name, object.items[i].line, name, key)
		}
	}
	for _, key := range required {
		if object.property(key) == nil {
			f.report("%s:%d: %s lacks the property %s", f.name, line, name, key)
		}
	}
}

// expression checks that names lead somewhere, and that a resource has what is
// wanted of it.
func (f *bicepFile) expression(e expression) {
	switch e.kind {
	case "name":
		if _, there := f.symbols[e.text]; !there && e.text != "true" && e.text != "false" && e.text != "null" {
			f.report("%s:%d: %s leads nowhere", f.name, e.line, e.text)
		}
		f.used[e.text] = true
	case "call":
		if !slices.Contains(bicepFunctions, e.text) {
			f.report("%s:%d: the function %s is not in the list", f.name, e.line, e.text)
		}
	case "property":
		f.property(e)
	}
	for _, item := range e.items {
		f.expression(item)
	}
}

// property checks what is wanted of a resource: its id, its name, or one of the
// properties that its type tells.
func (f *bicepFile) property(e expression) {
	path := []string{e.text}
	root := e.items[0]
	for ; root.kind == "property"; root = root.items[0] {
		path = append([]string{root.text}, path...)
	}
	s := f.symbols[root.text]
	if root.kind != "name" || s.keyword != "resource" {
		return
	}
	switch typ := bicepTypes[s.typ]; {
	case len(path) == 1 && slices.Contains([]string{"id", "name", "properties"}, path[0]):
	case len(path) == 2 && path[0] == "properties" && slices.Contains(typ.tells, path[1]):
	default:
		f.report("%s:%d: %s has no %s", f.name, e.line, root.text, strings.Join(path, "."))
	}
}
