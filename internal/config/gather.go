package config

import (
	"fmt"
	"regexp"
	"strings"
)

// values are the inputs as they were given, by name; defaults are filled in.
type values map[string]string

// gather reads the inputs from flags and from the host. A flag wins. An empty
// value counts as not given: a runner hands over every input that action.yml
// declares, with or without a value.
func gather(p *problems, args []string, lookup func(string) (string, bool)) values {
	v := values{}
	flags := parseFlags(p, args)
	for _, in := range inputs {
		value, given := flags[in.Name]
		if !given {
			value, _ = lookup(in.Name)
		}
		if strings.TrimSpace(value) == "" {
			value = in.Default
		}
		if value == "" && in.Required && !p.with(in.Name) {
			p.add(in.Name, "is missing")
		}
		v[in.Name] = value
	}
	return v
}

// parseFlags reads --name=value and --name value. What follows the name is its
// value even when it begins with a dash, because arguments of a Job often do,
// unless it is the name of another input.
func parseFlags(p *problems, args []string) map[string]string {
	flags := map[string]string{}
	for i := 0; i < len(args); i++ {
		name, value, hasValue := strings.Cut(args[i], "=")
		in, known := find(strings.TrimPrefix(name, "--"))
		switch {
		case !strings.HasPrefix(name, "--") || name == "--":
			p.flag(shown(args, i), "is no flag; inputs are given as --name=value or --name value")
			continue
		case !known:
			p.flag(shown(args, i), "is no input%s", didYouMean(strings.TrimPrefix(name, "--")))
			if next := i + 1; !hasValue && next < len(args) && !strings.HasPrefix(args[next], "-") {
				i = next
			}
			continue
		}
		if !hasValue {
			if i+1 == len(args) || isFlag(args[i+1]) {
				p.add(in.Name, "has no value; a value that is itself the name of a flag is given as --%s=value", in.Name)
				continue
			}
			i++
			value = args[i]
		}
		if _, twice := flags[in.Name]; twice {
			p.add(in.Name, "is given twice")
		}
		flags[in.Name] = value
	}
	return flags
}

var flagName = regexp.MustCompile(`^--[A-Za-z][A-Za-z-]{0,39}$`)

// shown names an argument that is no flag of ours: what is not plainly a name may
// be a secret that went astray, and is told by its place.
func shown(args []string, i int) string {
	name, _, _ := strings.Cut(args[i], "=")
	if _, known := find(strings.TrimLeft(name, "-")); known || name == "--" || flagName.MatchString(name) {
		return name
	}
	return fmt.Sprintf("argument %d", i+1)
}

// isFlag reports whether an argument names an input of ours.
func isFlag(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	_, known := find(strings.TrimPrefix(name, "--"))
	return known && strings.HasPrefix(name, "--")
}
