package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// Of many records that are missing, some are told and the number of the others.
func TestManyMissingRecordsAreCounted(t *testing.T) {
	t.Parallel()
	for n, rest := range map[int]string{0: "", 1: "", maxLost: "", maxLost + 1: "and 1 more", 40: fmt.Sprintf("and %d more", 40-maxLost)} {
		r := Report{}
		for i := range n {
			r.Facts.Missing = append(r.Facts.Missing, fmt.Sprintf("record %d is nowhere", i))
		}
		for form, text := range map[string]string{"markdown": r.Markdown(), "plain": r.Plain()} {
			if told := strings.Count(text, "is nowhere"); told != min(n, maxLost) || !strings.Contains(text, rest) || rest == "" && strings.Contains(text, " more") {
				t.Errorf("%s: %d of %d are told, and not %q:\n%s", form, told, n, rest, text)
			}
			if section := strings.Contains(text, "Records that could not be stored"); section != (n > 0) {
				t.Errorf("%s: for %d missing records there is a section: %t", form, n, section)
			}
		}
	}
}

// Whether all records are stored is told where there are stores and an execution:
// of a run that never came so far, or has the work folder alone, it says nothing.
func TestStoredIsToldOfAnExecution(t *testing.T) {
	t.Parallel()
	stores, named := []string{"cluster"}, oneshot.Result{Outcome: oneshot.Succeeded, Execution: contract.Execution{Name: jobName}}
	for name, c := range map[string]struct {
		report Report
		want   string
	}{
		"stored":           {Report{Facts: Facts{Stores: stores, Stored: true}, Result: named}, "yes"},
		"not stored":       {Report{Facts: Facts{Stores: stores}, Result: named}, "no"},
		"one missing":      {Report{Facts: Facts{Stores: stores, Stored: true, Missing: []string{"x"}}, Result: named}, "no"},
		"no store":         {Report{Facts: Facts{Stored: true}, Result: named}, ""},
		"no execution":     {Report{Facts: Facts{Stores: stores}, Result: oneshot.Result{Outcome: oneshot.Refused}}, ""},
		"nothing whatever": {Report{}, ""},
	} {
		have := ""
		for _, row := range parse(t, c.report.Markdown()).cells {
			if row[0] == "All records stored" {
				have = row[1]
			}
		}
		if have != c.want {
			t.Errorf("%s: have %q, want %q", name, have, c.want)
		}
	}
}
