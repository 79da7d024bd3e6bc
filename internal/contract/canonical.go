package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// maxIntegerDigits is the longest integer the reference's JSON decoder takes
// (CPython's limit for converting text to an integer).
const maxIntegerDigits = 4300

// Canonical returns the one spelling of v that digests are taken over: keys
// sorted by code point, no white space, everything outside printable ASCII
// escaped, integers kept exactly and floats in the reference's shortest form.
// It is the output of CPython's json.dumps with sort_keys and ensure_ascii.
//
// v is made of what [Parse] returns, and of Object, []string, map[string]string
// and int for values that are built here.
func Canonical(v any) ([]byte, error) {
	return appendValue(nil, v)
}

// DigestOf returns the digest of v's canonical form.
func DigestOf(v any) (Digest, error) {
	data, err := Canonical(v)
	if err != nil {
		return Digest{}, err
	}
	return digestBytes(data), nil
}

func digestBytes(data []byte) Digest {
	sum := sha256.Sum256(data)
	return Digest{hex.EncodeToString(sum[:])}
}

func appendValue(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case string:
		return appendString(b, v), nil
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case json.Number:
		return appendNumber(b, string(v))
	case []any:
		return appendArray(b, v)
	case []string:
		return appendArray(b, v)
	case Object:
		return appendObject(b, v)
	case map[string]any:
		return appendObject(b, v)
	case map[string]string:
		return appendObject(b, v)
	}
	return nil, fmt.Errorf("canonical JSON: no form for %T", v)
}

func appendArray[T any](b []byte, items []T) ([]byte, error) {
	var err error
	b = append(b, '[')
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendValue(b, item); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// appendObject relies on Go comparing strings by UTF-8 bytes, which is the
// order of their code points.
func appendObject[T any](b []byte, m map[string]T) ([]byte, error) {
	var err error
	b = append(b, '{')
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, key), ':')
		if b, err = appendValue(b, m[key]); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case ' ' <= r && r < 0x7f:
			b = append(b, byte(r))
		case r == '\b':
			b = append(b, '\\', 'b')
		case r == '\f':
			b = append(b, '\\', 'f')
		case r == '\n':
			b = append(b, '\\', 'n')
		case r == '\r':
			b = append(b, '\\', 'r')
		case r == '\t':
			b = append(b, '\\', 't')
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return append(b, '"')
}

func appendNumber(b []byte, n string) ([]byte, error) {
	if !strings.ContainsAny(n, ".eE") {
		if len(strings.TrimPrefix(n, "-")) > maxIntegerDigits {
			return nil, fmt.Errorf("canonical JSON: an integer of more than %d digits", maxIntegerDigits)
		}
		if n == "-0" {
			n = "0"
		}
		return append(b, n...), nil
	}
	f, err := strconv.ParseFloat(n, 64)
	if err != nil || math.IsInf(f, 0) {
		return nil, errors.New("canonical JSON: a number out of the range of a 64-bit float")
	}
	// CPython's repr writes an exponent below 1e-4 and from 1e16 on.
	if abs := math.Abs(f); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.AppendFloat(b, f, 'e', -1, 64), nil
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return append(b, s...), nil
}
