package cluster

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAuditLogGrows(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.log")
	var l auditLog
	if all, err := l.read(path, nil); len(all) > 0 || err != nil {
		t.Fatalf("%v, %v of a log that is not there yet", all, err)
	}
	const marker = auditMarker + "x"
	for _, step := range []struct {
		written string
		events  int
		marked  bool
	}{
		{`{"stage":"ResponseComplete","verb":"create","user":{"username":"u"},"objectRef":{"resource":"jobs","name":"j"},"responseStatus":{"code":201}}` + "\n", 1, false},
		{`{"stage":"ResponseComplete","verb":"get","requestURI":"` + marker + `"}` + "\n" + `{"stage":"Respon`, 1, true},
		{`seStarted","verb":"watch"}`, 1, true},
		{"\n", 2, true},
		{"", 2, true},
	} {
		appendTo(t, path, step.written)
		all, err := l.read(path, nil)
		if err != nil || len(all) != step.events {
			t.Fatalf("after %q: %d events, %v; want %d: neither our own nor half a line", step.written, len(all), err, step.events)
		}
		if marked, err := l.marked(path, marker); marked != step.marked || err != nil {
			t.Errorf("after %q: marked is %t, %v", step.written, marked, err)
		}
	}
	all, err := l.read(path, func(e AuditEvent) bool { return e.Verb == "create" })
	if err != nil || len(all) != 1 || all[0].User != "u" || all[0].Resource != "jobs" || all[0].Name != "j" || all[0].Code != 201 {
		t.Errorf("events are %+v, %v", all, err)
	}
	appendTo(t, path, "nonsense\n")
	if _, err := l.read(path, nil); err == nil {
		t.Error("nonsense is accepted")
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
