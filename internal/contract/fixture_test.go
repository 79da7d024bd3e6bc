package contract

import (
	"os"
	"path/filepath"
	"testing"
)

// fixture reads an object of testdata. Each call returns a new one.
func fixture(t testing.TB, name string) Object {
	t.Helper()
	object, err := ParseObject(fixtureBytes(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func fixtureBytes(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// testRequest is a request for the template in testdata.
func testRequest(t testing.TB) Request {
	t.Helper()
	label := func(s string) Label { return must(ParseLabel(s)) }
	q := Request{
		Namespace: label("fdai-runtime"), Template: label("inventory"), Purpose: label("inventory"),
		ServiceAccount: label("inventory-job"), Container: label("inventory"),
		Image:       must(ParseImage("example.azurecr.io/app@sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc")),
		Command:     []string{"python", "-m", "example.sync"},
		Args:        []string{"--initial"},
		Environment: map[string]string{"PROGRESS_RUN_ID": "genesis.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
	}
	pinned, err := ReadContext(fixture(t, "context.json"))
	if err != nil {
		t.Fatal(err)
	}
	if q.Pins, err = pinned.Pins(q.Template, q.Namespace, q.ServiceAccount); err != nil {
		t.Fatal(err)
	}
	return q
}

func testExecution(t testing.TB) Execution {
	t.Helper()
	e, err := Derive(fixture(t, "cronjob.json"), fixture(t, "serviceaccount.json"), testRequest(t))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// set puts a value at a path of keys and indexes; a value of remove takes the
// key away.
func set(object Object, value any, path ...any) {
	var at any = map[string]any(object)
	for _, step := range path[:len(path)-1] {
		switch step := step.(type) {
		case string:
			at = at.(map[string]any)[step]
		case int:
			at = at.([]any)[step]
		}
	}
	last := path[len(path)-1]
	if key, ok := last.(string); ok {
		if value == remove {
			delete(at.(map[string]any), key)
		} else {
			at.(map[string]any)[key] = value
		}
		return
	}
	at.([]any)[last.(int)] = value
}

type removal struct{}

var remove = removal{}
