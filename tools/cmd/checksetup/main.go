// Command checksetup checks the files in docs/setup, which people paste to set up
// Azure and their cluster. Neither az nor a provider of Terraform nor Bicep's
// compiler is asked; what is checked without them is
//
//   - federation.tf: Terraform's syntax, with its own parser; that resources and
//     arguments are ones that the providers' documentation has; that references
//     lead somewhere and nothing is left over;
//   - federation.bicep: the part of Bicep's syntax that the file uses (see
//     bicep.go), types and their API versions, properties, references;
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
	findings, err := check(filepath.Join(os.Args[1], "docs", "setup"), os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "checksetup:", err)
		os.Exit(2)
	}
	if findings > 0 {
		os.Exit(1)
	}
}

// check prints the findings in a folder of setup files and returns how many there
// are. An error means that it could not look at all.
func check(folder string, out io.Writer) (findings int, err error) {
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
	checkBicep("federation.bicep", f.bicep, report)
	checkAgreement(f, module, report)
	return findings, nil
}

// reporter takes a finding: file:line: what is wrong.
type reporter func(format string, args ...any)

// files are the texts of the setup files.
type files struct{ shell, bicep, terraform, namespace string }
