package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the compiler says of the file is a finding; that there is no compiler is
// said, and is none.
func TestBicepIsCompiledWhereItCanBe(t *testing.T) {
	for _, tc := range []struct {
		name, compiler   string // the compiler is a script, "" is none
		out, notes, fail string // what is in what is printed, or in the error
		findings         int
	}{
		{name: "not there", notes: "bicep is not on PATH"},
		{name: "satisfied", compiler: `[ "$1 $2" = "build --stdout" ] && [ -f "$3" ]`},
		{
			name: "an error", compiler: `echo "$3(9,1) : Error BCP018: Expected the \"=\" character. [https://aka.ms/bicep/core-diagnostics#BCP018]" >&2; exit 1`,
			out: `docs/setup/federation.bicep(9,1) : Error BCP018: Expected the "=" character.`, findings: 1,
		},
		{name: "a warning", compiler: `echo "$3(24,7) : Warning no-unused-params: Parameter is declared but never used." >&2`, out: "federation.bicep(24,7) : Warning no-unused-params", findings: 1},
		{name: "broken", compiler: `echo "Couldn't find a valid ICU package" >&2; exit 134`, fail: "ICU package"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := t.TempDir()
			if tc.compiler != "" {
				if err := os.WriteFile(filepath.Join(path, "bicep"), []byte("#!/bin/sh\n"+tc.compiler+"\n"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("PATH", path)
			var out, notes bytes.Buffer
			findings, err := check(setup, &out, &notes)
			if findings != tc.findings || !strings.Contains(out.String(), tc.out) || !strings.Contains(notes.String(), tc.notes) || (notes.Len() > 0) != (tc.notes != "") {
				t.Errorf("%d findings\n%s%s", findings, &out, &notes)
			}
			if (err != nil) != (tc.fail != "") || err != nil && !strings.Contains(err.Error(), tc.fail) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
