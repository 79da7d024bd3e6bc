package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// reader takes a decoded object apart and remembers the first thing that does
// not have the shape it must have. After that it goes on with empty values, so
// that a projection reads like a table and the error is looked at once.
type reader struct{ err *failure.Error }

func (r *reader) fail(path, format string, args ...any) {
	if r.err == nil {
		r.err = failure.New(failure.ConfigInvalid, format, args...).At(path)
	}
}

func (r *reader) object(v any, path string) map[string]any {
	switch m := v.(type) {
	case map[string]any:
		return m
	case Object:
		return m
	}
	r.fail(path, "must be an object, is %s", kind(v))
	return nil
}

// required reads an object that has to be there.
func (r *reader) required(m map[string]any, key, path string) map[string]any {
	if m[key] == nil {
		r.fail(path+"."+key, "is not there")
	}
	return r.object(m[key], path+"."+key)
}

// optionalObject returns a copy of an object, or nil for null or nothing.
func (r *reader) optionalObject(m map[string]any, key, path string) any {
	if m[key] == nil {
		return nil
	}
	return clone(r.object(m[key], path+"."+key))
}

func (r *reader) text(m map[string]any, key, path string) string {
	s, ok := m[key].(string)
	if !ok {
		r.fail(path+"."+key, "must be a string, is %s", kind(m[key]))
	}
	return s
}

// array returns a copy of a list; a key that is not there is an empty one, but
// null is not a list.
func (r *reader) array(m map[string]any, key, path string) []any {
	v, present := m[key]
	if !present {
		return []any{}
	}
	items, ok := v.([]any)
	if !ok {
		r.fail(path+"."+key, "must be an array, is %s", kind(v))
		return []any{}
	}
	return clone(items).([]any)
}

// objects is array for a list whose items are objects.
func (r *reader) objects(m map[string]any, key, path string) []map[string]any {
	items := r.array(m, key, path)
	out := make([]map[string]any, len(items))
	for i, item := range items {
		out[i] = r.object(item, fmt.Sprintf("%s.%s[%d]", path, key, i))
	}
	return out
}

// named returns a copy of a list of objects sorted by their name, which must
// be there and used once.
func (r *reader) named(m map[string]any, key, path string) []any {
	byName := map[string]any{}
	for i, item := range r.objects(m, key, path) {
		name, _ := item["name"].(string)
		_, taken := byName[name]
		if name == "" || taken {
			r.fail(fmt.Sprintf("%s.%s[%d].name", path, key, i), "must be a name that no other entry has")
		}
		byName[name] = item
	}
	return inOrder(byName)
}

// strings reads a list of arguments: each text that the dialect allows.
func (r *reader) strings(m map[string]any, key, path string) []any {
	items := r.array(m, key, path)
	for i, item := range items {
		at := fmt.Sprintf("%s.%s[%d]", path, key, i)
		if s, ok := item.(string); !ok {
			r.fail(at, "must be a string, is %s", kind(item))
		} else if err := CheckArgument(s); err != nil {
			r.fail(at, "%w", err)
		}
	}
	return items
}

// stringMap reads a map of strings; a key that is not there is an empty one.
func (r *reader) stringMap(m map[string]any, key, path string) map[string]string {
	v, present := m[key]
	if !present {
		return map[string]string{}
	}
	out := map[string]string{}
	values := r.object(v, path+"."+key)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		s, ok := values[name].(string)
		if !ok {
			r.fail(path+"."+key+"["+quote(name)+"]", "must be a string, is %s", kind(values[name]))
		}
		out[name] = s
	}
	return out
}

// failure returns the first error with the given code, or nil.
func (r *reader) failure(code failure.Code) error {
	if r.err == nil {
		return nil
	}
	e := *r.err
	e.Code = code
	return &e
}

// integer returns v as an int when it is a JSON integer that fits.
func integer(v any) (int, bool) {
	n, ok := v.(json.Number)
	if !ok || strings.ContainsAny(string(n), ".eE") {
		return 0, false
	}
	i, err := n.Int64()
	return int(i), err == nil
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = clone(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = clone(item)
		}
		return out
	}
	return v
}

// inOrder returns the values of m in the order of their keys.
func inOrder(m map[string]any) []any {
	out := make([]any, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[key])
	}
	return out
}
