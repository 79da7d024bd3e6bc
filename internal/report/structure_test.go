package report

import (
	"html"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// skeleton is what a reader of Markdown makes of a report, without the values.
type skeleton struct {
	Headings []string
	// Tables holds the number of columns and of rows of each, header left out.
	Tables [][2]int
	Fences int
	HTML   []string
	// Strange are the nodes that no report has: links, images, emphasis, lists.
	Strange []string
}

// parsed is a report as GitHub would read it: tables, bare links, strike-through
// and task lists are on.
type parsed struct {
	skeleton
	// cells are the texts of the tables' cells, row by row.
	cells [][]string
	// fenced are the texts of the code blocks.
	fenced []string
	// blocks names the kinds of the blocks at the top, in order.
	blocks []string
}

func parse(t testing.TB, markdown string) parsed {
	t.Helper()
	source := []byte(markdown)
	root := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	var p parsed
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		p.blocks = append(p.blocks, n.Kind().String())
	}
	err := ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			p.Headings = append(p.Headings, strings.Repeat("#", n.Level)+" "+content(n, source))
		case *extast.Table:
			p.Tables = append(p.Tables, [2]int{len(n.Alignments), n.ChildCount() - 1})
		case *extast.TableRow:
			var row []string
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				row = append(row, content(c, source))
			}
			p.cells = append(p.cells, row)
		case *ast.FencedCodeBlock:
			p.Fences++
			p.fenced = append(p.fenced, string(n.Lines().Value(source)))
		case *ast.HTMLBlock:
			p.HTML = append(p.HTML, string(n.Lines().Value(source)))
		case *ast.Document, *ast.Paragraph, *ast.Text, *ast.CodeSpan, *ast.String,
			*extast.TableHeader, *extast.TableCell:
		default:
			p.Strange = append(p.Strange, n.Kind().String()+" "+content(n, source))
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// content returns the text that a reader sees of a node.
func content(n ast.Node, source []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			value := string(c.Segment.Value(source))
			if _, code := n.(*ast.CodeSpan); !code {
				value = html.UnescapeString(value)
			}
			b.WriteString(value)
		case *ast.String:
			b.Write(c.Value)
		default:
			b.WriteString(content(c, source))
		}
	}
	return b.String()
}

// check asserts what holds of every report, whatever its values.
func (p parsed) check(t testing.TB) {
	t.Helper()
	if len(p.blocks) < 2 || p.blocks[0] != "Heading" || p.blocks[1] != "Paragraph" {
		t.Errorf("a report begins with a heading and the status; this one with %v", p.blocks)
	}
	if len(p.Strange) > 0 {
		t.Errorf("a report holds no %q", p.Strange)
	}
	own := []string{"<details><summary>Digests</summary>\n", "</details>\n"}
	if len(p.HTML) > 0 && !slices.Equal(p.HTML, own) {
		t.Errorf("HTML that is not ours: %q", p.HTML)
	}
	for _, row := range p.cells {
		if len(row) < 2 {
			t.Errorf("a row of one cell: %q", row)
		}
	}
}

func TestGoldenStructure(t *testing.T) {
	t.Parallel()
	want := map[string][]string{
		"succeeded":           {"## ✅ inventory-sync succeeded", "### Facts", "### Steps", "### How the Job ended"},
		"resumed":             {"## ✅ inventory-sync succeeded", "### Facts", "### Steps", "### How the Job ended"},
		"replayed":            {"## ✅ inventory-sync succeeded", "### Facts", "### Steps", "### How the Job ended"},
		"job-failed":          {"## ❌ inventory-sync failed", "### Why", "### Facts", "### Steps", "### How the Job ended"},
		"records-missing":     {"## ❌ inventory-sync failed", "### Why", "### Records that could not be stored", "### Facts", "### Steps", "### How the Job ended"},
		"successor-succeeded": {"## ✅ inventory-sync succeeded", "### Facts", "### Steps", "### How the Job ended"},
		"template-drift":      {"## ⛔ inventory-sync was refused", "### Why", "### Facts"},
		"identity-drift":      {"## ⛔ inventory-sync was refused", "### Why", "### Facts"},
		"dispatch-ambiguous":  {"## ❓ inventory-sync: the outcome is not known", "### Why", "### Facts", "### Steps"},
		"job-vanished":        {"## ❓ inventory-sync: the outcome is not known", "### Why", "### Facts"},
		"deadline":            {"## ❓ inventory-sync: the outcome is not known", "### Why", "### Facts"},
		"cancelled":           {"## ⏹️ inventory-sync was cancelled", "### Why", "### Facts"},
		"config-invalid":      {"## ⛔ inventory-sync: the input is not usable", "### Why", "### Facts"},
	}
	for _, s := range scenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(filepath.Join("testdata", s.name+".md"))
			if err != nil {
				t.Fatal(err)
			}
			p := parse(t, string(data))
			p.check(t)
			if diff := cmp.Diff(want[s.name], p.Headings); diff != "" {
				t.Errorf("headings (-want +got):\n%s", diff)
			}
			if len(s.report.Events) > 0 {
				columns, rows := 4, len(s.report.Events)
				if s.name == "successor-succeeded" {
					columns = 5
				}
				if !slices.Contains(p.Tables, [2]int{columns, rows}) {
					t.Errorf("no table of %d columns and %d steps among %v", columns, rows, p.Tables)
				}
			}
			if s.report.Result.Evidence != nil && !slices.Contains(p.Tables, [2]int{3, 2}) {
				t.Errorf("no table of two conditions among %v", p.Tables)
			}
			if failed := s.report.Err != nil; failed != (p.Fences == 1) {
				t.Errorf("%d blocks of text for error %v", p.Fences, s.report.Err)
			}
			if s.report.Result.Execution.Name != "" && len(p.HTML) != 2 {
				t.Errorf("the digests are not folded away: %q", p.HTML)
			}
		})
	}
}

// Every failure tells the user what it is, what it means, and what to do.
func TestFailureIsToldInFull(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios(t) {
		if s.report.Err == nil {
			continue
		}
		means, do := s.report.advice()
		rows := map[string]string{}
		for _, row := range parse(t, s.report.Markdown()).cells {
			rows[row[0]] = row[1]
		}
		if means == "" || rows["It means"] != means {
			t.Errorf("%s: told meaning %q, want %q", s.name, rows["It means"], means)
		}
		if do == "" || rows["What to do"] != do {
			t.Errorf("%s: told to do %q, want %q", s.name, rows["What to do"], do)
		}
		if e := s.report.failure(); rows["Reason"] != string(e.Code) || rows["At"] != e.Field {
			t.Errorf("%s: told reason %q at %q, want %q at %q", s.name, rows["Reason"], rows["At"], e.Code, e.Field)
		}
	}
}

// A failure that says what to do is not followed by what is said of all of its
// kind, in any form of the report.
func TestOneAdvice(t *testing.T) {
	t.Parallel()
	for _, m := range failure.Meanings() {
		e := failure.New(m.Code, "something is wrong")
		for _, r := range []Report{{Err: e}, {Err: e.WithFix("Mend this one")}} {
			want, not := m.Do, "Mend this one"
			if r.failure().Fix != "" {
				want, not = not, want
			}
			_, annotation := r.Annotation()
			for form, text := range map[string]string{"annotation": annotation, "plain": r.Plain(), "markdown": html.UnescapeString(r.Markdown())} {
				if !strings.Contains(text, want) || strings.Contains(text, not) {
					t.Errorf("%s: the %s is to say %q and not %q:\n%s", m.Code, form, want, not, text)
				}
			}
		}
	}
}

// A command to paste is in the summary as a whole.
func TestLongAdviceIsWhole(t *testing.T) {
	t.Parallel()
	fix := "Make one: az identity federated-credential create " + strings.Repeat("--subject repo:octo-org/octo-repo ", 40) + "--the-end"
	r := Report{Err: failure.New(failure.CredentialFailed, "none is there").WithFix("%s", fix)}
	if have := r.Plain(); !strings.Contains(have, fix) {
		t.Errorf("the advice was cut:\n%s", have)
	}
}
