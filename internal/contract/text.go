package contract

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The types here wrap text that has a form. Each has one constructor, which
// refuses everything else, so a value that is not the zero value is well formed.

// Digest is a lower-case SHA-256 in hexadecimal.
type Digest struct{ hex string }

// Label is a DNS label as Kubernetes defines it for names (RFC 1123): at most
// 63 of a-z, 0-9 and '-', beginning and ending with a letter or digit.
type Label struct{ name string }

// Image is an image reference with a registry host and a sha256 digest. A tag
// is not enough: it can be moved after the review.
type Image struct{ ref string }

// Commit is a full git commit id: 40 lower-case hexadecimal digits.
type Commit struct{ hex string }

// GUID is an Azure tenant, subscription or client id, in lower case.
type GUID struct{ text string }

var (
	digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
	labelForm  = regexp.MustCompile(`^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$`)
	imageForm  = regexp.MustCompile(`^[a-z0-9.-]+(?::[0-9]+)?/[a-z0-9._/-]+@sha256:[0-9a-f]{64}$`)
	commitForm = regexp.MustCompile(`^[0-9a-f]{40}$`)
	guidForm   = regexp.MustCompile(`^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
)

// ParseDigest returns s as a Digest, or an error that says what is wrong.
func ParseDigest(s string) (Digest, error) {
	if !digestForm.MatchString(s) {
		return Digest{}, fmt.Errorf("%s is not a SHA-256 digest: want 64 lower-case hexadecimal digits", quote(s))
	}
	return Digest{s}, nil
}

// ParseLabel returns s as a Label, or an error that says what is wrong.
func ParseLabel(s string) (Label, error) {
	if !labelForm.MatchString(s) {
		return Label{}, fmt.Errorf("%s is not a DNS label: want at most 63 of a-z, 0-9 and '-', beginning and ending with a letter or digit", quote(s))
	}
	return Label{s}, nil
}

// ParseImage returns s as an Image, or an error that says what is wrong.
func ParseImage(s string) (Image, error) {
	if !imageForm.MatchString(s) {
		return Image{}, fmt.Errorf("%s is not a digest-pinned image: want registry/repository@sha256:<64 hexadecimal digits>", quote(s))
	}
	return Image{s}, nil
}

// ParseCommit returns s as a Commit, or an error that says what is wrong.
func ParseCommit(s string) (Commit, error) {
	if !commitForm.MatchString(s) {
		return Commit{}, fmt.Errorf("%s is not a git commit: want 40 lower-case hexadecimal digits", quote(s))
	}
	return Commit{s}, nil
}

// ParseGUID returns s, in any case, as a GUID, or an error that says what is
// wrong.
func ParseGUID(s string) (GUID, error) {
	if !guidForm.MatchString(s) {
		return GUID{}, fmt.Errorf("%s is not a GUID: want 8-4-4-4-12 hexadecimal digits", quote(s))
	}
	return GUID{strings.ToLower(s)}, nil
}

func (d Digest) String() string { return d.hex }
func (l Label) String() string  { return l.name }
func (i Image) String() string  { return i.ref }
func (c Commit) String() string { return c.hex }
func (g GUID) String() string   { return g.text }

// IsZero reports whether d was never set.
func (d Digest) IsZero() bool { return d.hex == "" }

// maxText is the reference's bound for one argument or value, in code points.
const maxText = 4096

// checkText refuses text that has no place in an argument or an environment
// value of the dialect: over-long, or with a NUL or a line break.
func checkText(s string) error {
	switch {
	case !utf8.ValidString(s):
		return fmt.Errorf("is not valid UTF-8")
	case utf8.RuneCountInString(s) > maxText:
		return fmt.Errorf("has %d characters, at most %d are allowed", utf8.RuneCountInString(s), maxText)
	case strings.ContainsAny(s, "\x00\r\n"):
		return fmt.Errorf("holds a NUL or a line break")
	}
	return nil
}

// CheckArgument refuses text that the dialect does not take as an argument: it is
// empty, has more than 4096 characters, or holds a NUL or a line break. The
// error goes on from the argument's name: "is empty".
func CheckArgument(s string) error {
	if s == "" {
		return fmt.Errorf("is empty")
	}
	return checkText(s)
}

// quote returns s in quotes for a message, whole or not at all: who hides secrets
// in a text knows them whole.
func quote(s string) string {
	const most = 200 // an image by digest is longer than a hundred
	if len(s) > most {
		return fmt.Sprintf("a value of %d bytes", len(s))
	}
	return fmt.Sprintf("%q", s)
}
