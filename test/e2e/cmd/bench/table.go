package main

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Table returns the result for people.
func (r Result) Table() string {
	rows := [][]string{{"", "aks-oneshot", "kubectl", "ratio", "create+wait", "ratio", "goal", "met"}}
	for _, f := range r.Figures {
		goal, met := "", ""
		if f.Goal != nil {
			goal, met = f.Goal.Text, "NO"
			if f.Goal.Met {
				met = "yes"
			}
		}
		rows = append(rows, []string{
			f.Title + " [" + f.Unit + "]", f.cell(&f.Action), f.cell(f.Kubectl), ratio(f.Ratio),
			f.cell(f.CreateWait), ratio(f.RatioCreateWait), goal, met,
		})
	}
	var b strings.Builder
	e := r.Environment
	fmt.Fprintf(&b, "\nMedians of %d rounds in turn, least and most in parentheses", r.Rounds)
	if n := r.samplesOf("peak_memory"); n > 0 {
		fmt.Fprintf(&b, "; requests while waiting: one Job each; memory: the largest of %d", n)
	}
	b.WriteString(".\n")
	fmt.Fprintf(&b, "%s/%s, %d processors, %s, Kubernetes %s (node: %s), kubectl %s (%s), kubelogin %s, load %s\n\n",
		e.OS, e.Arch, e.CPUs, e.Go, e.Kubernetes, e.Node, e.Kubectl, e.KubectlFrom, cmp.Or(e.Kubelogin, "none"), e.load())
	b.WriteString(align(rows))
	b.WriteString(`
kubectl       get cronjob, get serviceaccount, get job, create -f, get job every 5 s, with warm caches; its replay
              is the three gets, which a script has to make to find out how things stand.
create+wait   kubectl create job --from=cronjob/x, kubectl wait --for=condition=complete: nothing is checked or
              recorded, a re-run creates another Job, and a Job that fails keeps it waiting.
sign-in       in the column of kubectl: kubectl get cronjob with kubelogin (workloadidentity), which is given a
              kubeconfig and an id token; the action gets both itself.
stores        in the column of kubectl: the action with its records in the work folder alone.
`)
	if r.Met {
		b.WriteString("\nAll goals are met.\n")
	} else {
		b.WriteString("\nNot all goals are met.\n")
	}
	if e.busy() {
		b.WriteString("The machine had other work to do: the times say little.\n")
	}
	return b.String()
}

func (r Result) samplesOf(name string) int {
	for _, f := range r.Figures {
		if f.Name == name {
			return len(f.Action.Samples)
		}
	}
	return 0
}

func (e Environment) load() string {
	if e.LoadBefore < 0 || e.LoadAfter < 0 {
		return "not known"
	}
	return fmt.Sprintf("%.1f before, %.1f after", e.LoadBefore, e.LoadAfter)
}

// busy reports whether others had work for more than half of the machine when
// the measuring began. At its end the load is its own.
func (e Environment) busy() bool { return e.LoadBefore > float64(e.CPUs)/2 }

func (f Figure) cell(s *Series) string {
	if s == nil {
		return "-"
	}
	text := f.number(s.Value)
	if s.Min != s.Max {
		text += fmt.Sprintf(" (%s-%s)", f.number(s.Min), f.number(s.Max))
	}
	return text
}

func (f Figure) number(v float64) string {
	if f.Unit == "delays" {
		return fmt.Sprintf("%.2f", v)
	}
	if f.Unit == "MiB" || f.Unit == "ms" && v < 10 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

func ratio(r *float64) string {
	if r == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *r)
}

// align writes rows with their columns one under the other.
func align(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
