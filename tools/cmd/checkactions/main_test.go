package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree is a small repository without findings.
var tree = map[string]string{
	"action.yml": `name: Example
description: An example
inputs:
  one-thing:
    description: A thing
    required: true
  other:
    description: Another thing
outputs:
  outcome:
    description: What came of it
runs:
  using: docker
  image: Dockerfile
  entrypoint: /usr/local/bin/example
`,
	"Dockerfile": `FROM golang AS build
USER nobody
ENTRYPOINT ["go"]
FROM debian
COPY --from=build /example \
    /usr/local/bin/example
`,
	".github/workflows/ci.yml": `on: push
jobs:
  test:
    runs-on: ubuntu-24.04
    steps:
      - run: make test
`,
	"README.md": "# Example\n" + "```yaml" + `
on: push
jobs:
  run:
    runs-on: ubuntu-24.04
    steps:
      - id: run
        uses: aks-oneshot/aks-oneshot@v1
        with:
          one-thing: a
      - run: echo "${{ steps.run.outputs.outcome }}"
` + "```\n",
	"docs/steps.md": "In a list:\n\n1. A step\n\n   ```yaml" + `
   - uses: aks-oneshot/aks-oneshot@v1
     with:
       one-thing: a
       other: b
` + "   ```\n",
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name           string
		file, old, new string // what is changed in the tree
		want           string // part of the one finding; empty: none
	}{
		{name: "sound"},
		{name: "unknown key", file: "action.yml", old: "    required: true", new: "    require: true", want: "field require not found"},
		{name: "repeated input", file: "action.yml", old: "  other:", new: "  one-thing:", want: `"one-thing" already defined`},
		{name: "input without description", file: "action.yml", old: "    description: Another thing", new: "    default: x", want: "input other has no description"},
		{name: "output without description", file: "action.yml", old: "What came of it", new: "''", want: "output outcome has no description"},
		{name: "name of an input", file: "action.yml", old: "  other:", new: "  otherThing:", want: "lower-case"},
		{name: "required with a default", file: "action.yml", old: "    required: true", new: "    required: true\n    default: x", want: "is required and has a default"},
		{name: "no entrypoint", file: "action.yml", old: "  entrypoint: /usr/local/bin/example\n", want: "runs.entrypoint is missing"},
		{name: "other entrypoint", file: "action.yml", old: "bin/example", new: "bin/sample", want: "does not install"},
		{name: "not docker", file: "action.yml", old: "using: docker", new: "using: node24", want: `runs.using is "node24"`},
		{name: "other image", file: "action.yml", old: "image: Dockerfile", new: "image: alpine", want: `runs.image is "alpine"`},
		{name: "entrypoint in the image", file: "Dockerfile", old: "FROM debian\n", new: "FROM debian\nEntrypoint [\"example\"]\n", want: "an ENTRYPOINT keeps"},
		{name: "user in the image", file: "Dockerfile", old: "FROM debian\n", new: "FROM debian\nUSER 1000\n", want: "only root"},
		{name: "frontend", file: "Dockerfile", old: "FROM golang", new: "# syntax=docker/dockerfile:1\nFROM golang", want: "pull a frontend"},
		{name: "broken workflow", file: ".github/workflows/ci.yml", old: "runs-on", new: "run-on", want: `.github/workflows/ci.yml:4:5: unexpected key "run-on"`},
		{name: "input that is not there", file: "README.md", old: "          one-thing: a", new: "          one-thing: a\n          two: b", want: `README.md:12:11: input "two" is not defined`},
		{name: "required input missing", file: "README.md", old: "          one-thing: a", new: "          other: b", want: `README.md:9:15: missing input "one-thing"`},
		{name: "output that is not there", file: "README.md", old: "outputs.outcome", new: "outputs.result", want: `README.md:12:24: property "result" is not defined`},
		{name: "block that does not parse", file: "README.md", old: "on: push", new: "on: [push", want: "README.md: a YAML block does not parse"},
		{name: "step with an input that is not there", file: "docs/steps.md", old: "other: b", new: "others: b", want: "docs/steps.md:9:5: the action has no input others"},
		{name: "step without a required input", file: "docs/steps.md", old: "       one-thing: a\n", want: "docs/steps.md:6:9: the required input one-thing is missing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for name, text := range tree {
				if name == tc.file {
					changed := strings.Replace(text, tc.old, tc.new, 1)
					if changed == text {
						t.Fatalf("%s has no %q", name, tc.old)
					}
					text = changed
				}
				path := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			findings, err := check(root, &out)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(out.String(), "\n"); got != findings {
				t.Errorf("%d lines for %d findings:\n%s", got, findings, &out)
			}
			if tc.want == "" && findings > 0 || tc.want != "" && !strings.Contains(out.String(), tc.want) {
				t.Errorf("findings:\n%s\nwant one with %q", &out, tc.want)
			}
		})
	}
}

func TestCheckElsewhere(t *testing.T) {
	t.Parallel()
	if findings, err := check(t.TempDir(), &bytes.Buffer{}); err == nil {
		t.Errorf("an empty folder has %d findings and no error", findings)
	}
}
