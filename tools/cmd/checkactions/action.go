package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// action is the metadata of a Docker container action, all of it:
// https://docs.github.com/en/actions/reference/workflows-and-actions/metadata-syntax
type action struct {
	Name        string            `yaml:"name"`
	Author      string            `yaml:"author"`
	Description string            `yaml:"description"`
	Inputs      map[string]input  `yaml:"inputs"`
	Outputs     map[string]output `yaml:"outputs"`
	Runs        struct {
		Using          string            `yaml:"using"`
		Image          string            `yaml:"image"`
		Entrypoint     string            `yaml:"entrypoint"`
		Args           []string          `yaml:"args"`
		Env            map[string]string `yaml:"env"`
		PreEntrypoint  string            `yaml:"pre-entrypoint"`
		PreIf          string            `yaml:"pre-if"`
		PostEntrypoint string            `yaml:"post-entrypoint"`
		PostIf         string            `yaml:"post-if"`
	} `yaml:"runs"`
	Branding struct {
		Icon  string `yaml:"icon"`
		Color string `yaml:"color"`
	} `yaml:"branding"`
}

type input struct {
	Description        string `yaml:"description"`
	Required           bool   `yaml:"required"`
	Default            string `yaml:"default"`
	DeprecationMessage string `yaml:"deprecationMessage"`
}

type output struct {
	Description string `yaml:"description"`
}

// readAction refuses what GitHub would ignore: unknown and repeated keys.
func readAction(file string) (*action, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	a := new(action)
	if err := decoder.Decode(a); err != nil {
		return nil, err
	}
	return a, nil
}

var inputName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// problems are what is wrong with the action, one sentence each. An action that
// is built from the Dockerfile must start a program that it installs.
func (a *action) problems(dockerfile string) (found []string) {
	wrong := func(format string, args ...any) {
		found = append(found, "action.yml: "+fmt.Sprintf(format, args...))
	}
	if a.Name == "" || a.Description == "" {
		wrong("name and description must be there")
	}
	if len(a.Description) > 125 {
		wrong("the description has %d characters; the Marketplace takes 125", len(a.Description))
	}
	for _, name := range slices.Sorted(maps.Keys(a.Inputs)) {
		in := a.Inputs[name]
		if !inputName.MatchString(name) {
			wrong("input %s: use lower-case words with dashes", name)
		}
		if strings.TrimSpace(in.Description) == "" {
			wrong("input %s has no description", name)
		}
		if in.Required && in.Default != "" {
			wrong("input %s is required and has a default", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Outputs)) {
		if !inputName.MatchString(name) {
			wrong("output %s: use lower-case words with dashes", name)
		}
		if strings.TrimSpace(a.Outputs[name].Description) == "" {
			wrong("output %s has no description", name)
		}
	}
	if a.Runs.Using != "docker" {
		wrong("runs.using is %q, not docker", a.Runs.Using)
	}
	if a.Runs.Image != "Dockerfile" && !strings.HasPrefix(a.Runs.Image, "docker://") {
		wrong("runs.image is %q, neither Dockerfile nor docker://…", a.Runs.Image)
	}
	switch entrypoint := a.Runs.Entrypoint; {
	case entrypoint == "":
		wrong("runs.entrypoint is missing: the image has no ENTRYPOINT")
	case !slices.ContainsFunc(installed(dockerfile), func(p string) bool { return p == entrypoint || path.Base(p) == entrypoint }):
		wrong("runs.entrypoint is %s, which the Dockerfile does not install", entrypoint)
	}
	return found
}
