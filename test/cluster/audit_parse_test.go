package cluster

import "testing"

func TestParseAudit(t *testing.T) {
	t.Parallel()
	log := `{"stage":"ResponseComplete","verb":"create","user":{"username":"u"},"objectRef":{"resource":"jobs","name":"j"},"responseStatus":{"code":201}}
{"stage":"ResponseComplete","verb":"get","requestURI":"/readyz?audit-marker=x"}
{"stage":"ResponseStarted","verb":"watch"}
{"stage":"Respon`
	all, err := parseAudit([]byte(log), nil)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d events, %v; want 2: neither our own nor half a line", len(all), err)
	}
	if e := all[0]; e.User != "u" || e.Resource != "jobs" || e.Name != "j" || e.Code != 201 {
		t.Errorf("event is %+v", e)
	}
	if _, err := parseAudit([]byte("nonsense\n"), nil); err == nil {
		t.Error("nonsense is accepted")
	}
}
