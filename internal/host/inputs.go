package host

import "strings"

// Inputs is a source of inputs. It returns the value under a name, and whether
// one was given at all. A [Host]'s Input method is one.
type Inputs func(name string) (value string, given bool)

// Env returns a source that reads inputs as GitHub hands them to a container:
// INPUT_ and the name in upper case, spaces as '_' and dashes kept. The same
// with '_' for dashes is accepted too, for shells that cannot export a dash.
//
// GitHub sets every input the action declares, so a blank one counts as not
// given. Windows line ends count as any other. Blank lines around a value are
// dropped; so is white space around a value of one line. The lines of a longer
// value are left as they are.
func Env(getenv func(string) string) Inputs {
	return func(name string) (string, bool) {
		key := "INPUT_" + strings.ToUpper(strings.ReplaceAll(name, " ", "_"))
		for _, k := range []string{key, strings.ReplaceAll(key, "-", "_")} {
			if value := trim(getenv(k)); value != "" {
				return value, true
			}
		}
		return "", false
	}
}

// trim drops blank lines around a value, and white space around a single line.
func trim(value string) string {
	lines := strings.Split(strings.ReplaceAll(value, "\r\n", "\n"), "\n")
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	if len(lines) == 1 {
		return strings.TrimSpace(lines[0])
	}
	return strings.Join(lines, "\n")
}
