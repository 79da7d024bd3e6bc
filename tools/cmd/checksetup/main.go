// Command checksetup checks the files in docs/setup, which people paste to set up
// Azure and their cluster. Neither az nor a provider of Terraform is asked; what is
// checked is
//
//   - federation.tf: Terraform's syntax, with its own parser; that resources and
//     arguments are ones that the providers' documentation has; that references
//     lead somewhere and nothing is left over;
//   - federation.bicep: by `bicep build`, where that is on PATH. Where it is not,
//     a line on standard error says so, and nothing is known of its syntax;
//   - that both, federation.sh and namespace.yaml set up the same: the Role, who it
//     is bound to, the role in Azure, the issuer and the audience.
//
// hack/check-shell checks the syntax of federation.sh, a test runs it.
//
// Its argument is the root of the tree. It prints one line for each finding and
// ends with status 1 when there is one.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: checksetup ROOT")
		os.Exit(2)
	}
	findings, err := check(filepath.Join(os.Args[1], "docs", "setup"), os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "checksetup:", err)
		os.Exit(2)
	}
	if findings > 0 {
		os.Exit(1)
	}
}

// check prints the findings in a folder of setup files and returns how many there
// are; what it could not look at is said on notes. An error means that it could not
// look at all.
func check(folder string, out, notes io.Writer) (findings int, err error) {
	report := func(format string, args ...any) {
		findings++
		line := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
		fmt.Fprintln(out, "docs/setup/"+line)
	}
	var f files
	for name, text := range map[string]*string{
		"federation.sh": &f.shell, "federation.bicep": &f.bicep, "federation.tf": &f.terraform, "namespace.yaml": &f.namespace,
	} {
		data, readErr := os.ReadFile(filepath.Join(folder, name))
		err = errors.Join(err, readErr)
		*text = string(data)
	}
	if err != nil {
		return 0, err
	}
	module := checkTerraform("federation.tf", f.terraform, report)
	checkAgreement(f, module, report)
	compiled, err := checkBicep(filepath.Join(folder, "federation.bicep"), "federation.bicep", report)
	if err == nil && !compiled {
		fmt.Fprintln(notes, "checksetup: bicep is not on PATH: federation.bicep was compared with the other files, and not compiled")
	}
	return findings, err
}

// reporter takes a finding: file:line: what is wrong.
type reporter func(format string, args ...any)

// files are the texts of the setup files.
type files struct{ shell, bicep, terraform, namespace string }
