package escape

import (
	"os/exec"
	"testing"
)

func TestShell(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"rg-prod_1.x": "rg-prod_1.x", "rg (old)": "'rg (old)'", "a'b": `'a'\''b'`, "": "''", "größe": "'größe'", "~": "'~'",
		"repo:acme/orders:ref:refs/heads/main": "repo:acme/orders:ref:refs/heads/main", "a\n": "'a\n'",
	} {
		if have := Shell(text); have != want {
			t.Errorf("%q is given as %s, want %s", text, have, want)
		}
	}
}

// What a real shell makes of it is the text, in one argument.
func TestShellsTakeItForOneArgument(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"", "plain", "-n", "--name=x", "two words", " ", "a'b", "''", `"`, `\`, `\'`, "$HOME", "$(id)", "`id`", "${x:-y}", "*", "?", "[a-z]", "~", "~root",
		"#", "a#b", "!", "!!", ";", "&", "|", "<x", ">x", "(a)", "{a,b}", "=a", "a=b", "a\nb", "\n", "a\n", "\t", "größe", "\x7f", "\xff", "%s", "if", "環境",
	} {
		// The number of arguments, and each with what would end it too early.
		script := `printf '%s|' "$#" "$@"`
		out, err := exec.CommandContext(t.Context(), sh, "-c", "set -- begin "+Shell(text)+" end\n"+script).Output()
		if want := "3|begin|" + text + "|end|"; err != nil || string(out) != want {
			t.Errorf("%s is taken for %q, %v; want %q", Shell(text), out, err, want)
		}
	}
}

func FuzzShell(f *testing.F) {
	f.Add("a'b $(c)")
	f.Fuzz(func(t *testing.T, text string) {
		quoted := Shell(text)
		// Outside of quotes there are plain characters and escaped quotes alone.
		inside, rest := false, []rune(quoted)
		for i := 0; i < len(rest); i++ {
			switch {
			case rest[i] == '\'':
				inside = !inside
			case inside:
			case rest[i] == '\\' && i+1 < len(rest) && rest[i+1] == '\'':
				i++
			case !plain.MatchString(string(rest[i])):
				t.Fatalf("%q is given as %s", text, quoted)
			}
		}
		if inside || quoted == "" {
			t.Errorf("%q is given as %s", text, quoted)
		}
	})
}
