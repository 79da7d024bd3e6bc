package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Object is a JSON object as decoded by [ParseObject]: its values are nil,
// bool, string, [json.Number], []any and map[string]any.
type Object map[string]any

// maxDepth bounds the nesting of a document. Kubernetes objects stay far below
// it, and everything that walks a value recursively relies on it.
const maxDepth = 200

// maxValues bounds the number of values in a document. What etcd can hold has
// fewer; without the bound a few megabytes of text take hundreds in memory.
const maxValues = 200_000

// Parse decodes one JSON document without losing anything a digest depends on:
// numbers keep their spelling, and of duplicate keys the last one wins. Text
// that has no exact Unicode value (invalid UTF-8, a lone surrogate) is refused.
func Parse(data []byte) (any, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("invalid JSON: not valid UTF-8")
	}
	if err := scan(data); err != nil {
		return nil, fmt.Errorf("invalid JSON: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("invalid JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("invalid JSON: text after the document")
	}
	return v, nil
}

// ParseObject decodes one JSON document that has to be an object, by the rules
// of [Parse].
func ParseObject(data []byte) (Object, error) {
	v, err := Parse(data)
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("want a JSON object, have %s", kind(v))
	}
	return m, nil
}

// scan refuses what encoding/json would accept and change: surrogate escapes
// that are not a pair, which it replaces, nesting past maxDepth and more than
// maxValues values.
func scan(data []byte) error {
	depth, values, inString, high := 0, 0, false, false
	for i := 0; i < len(data); i++ {
		c := data[i]
		if !inString {
			switch c {
			case '"':
				inString = true
			case '{', '[':
				if depth++; depth > maxDepth {
					return fmt.Errorf("nested deeper than %d levels", maxDepth)
				}
				values++
			case ',':
				values++
			case '}', ']':
				depth--
			}
			if values > maxValues {
				return fmt.Errorf("more than %d values", maxValues)
			}
			continue
		}
		unit, isEscape := rune(0), false
		if c == '\\' && i+1 < len(data) {
			i++
			if data[i] == 'u' && i+4 < len(data) {
				unit, isEscape = hex4(data[i+1:i+5]), true
				i += 4
			}
		}
		isLow := isEscape && 0xDC00 <= unit && unit < 0xE000
		if high != isLow {
			return errors.New("a string holds a lone surrogate")
		}
		high = isEscape && 0xD800 <= unit && unit < 0xDC00
		if c == '"' {
			inString = false
		}
	}
	return nil
}

// hex4 returns the value of four hexadecimal digits, or 0 when they are not:
// the decoder proper refuses those.
func hex4(digits []byte) rune {
	var r rune
	for _, c := range digits {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0
		}
	}
	return r
}

// kind names the JSON type of v for messages.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case []any:
		return "an array"
	case map[string]any, Object:
		return "an object"
	}
	return fmt.Sprintf("%T", v)
}
