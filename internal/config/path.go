package config

import (
	"slices"
	"strings"
)

// maxName is the most bytes of one name in a path (limits.h(0p), NAME_MAX).
const maxName = 255

// isPath reports whether a value can be a path, and records when it cannot:
// people give the content of a file where its path is wanted, from a secret at
// that, so the value is not told. what says what the file holds, and instead
// where its content may be given.
func isPath(p *problems, input, value, what, instead string) bool {
	switch {
	case isContent(value):
		p.add(input, "holds %s, and wants the path of one%s", what, instead)
	case slices.ContainsFunc(strings.Split(value, "/"), func(name string) bool { return len(name) > maxName }):
		p.add(input, "is no path: it has %d bytes, and a name in it more than %d; it wants the path of %s%s", len(value), maxName, what, instead)
	default:
		return true
	}
	return false
}

// isContent recognises YAML and JSON, and the beginning of a kubeconfig in
// Base64.
func isContent(value string) bool {
	return strings.ContainsAny(value, "\r\n") || strings.HasPrefix(value, "{") || strings.HasPrefix(value, "[") ||
		strings.Contains(value, "apiVersion:") || strings.HasPrefix(value, "YXBpVmVyc2lvb")
}
