package contract

import (
	"bytes"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// FuzzCanonical: whatever is accepted has one canonical form, and that form
// stands for itself.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"b":1,"a":[1.0,1e-7,"\ud83d\ude00"]}`, `"\ud800"`, `"\\ud800"`, `-0`, `1e999`, `[[[[]]]]`, "\"\xff\""} {
		f.Add([]byte(seed))
	}
	f.Add(fixtureBytes(f, "cronjob.json"))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Parse(data)
		if err != nil {
			return
		}
		form, err := Canonical(v)
		if err != nil {
			return
		}
		again, err := Parse(form)
		if err != nil {
			t.Fatalf("the canonical form %s of %s is refused: %v", form, data, err)
		}
		if second := must(Canonical(again)); !bytes.Equal(second, form) {
			t.Errorf("the canonical form of %s is %s, its own is %s", data, form, second)
		}
	})
}

// FuzzCronJob: a CronJob of any shape gives an execution or a failure with a
// code and a place, and an execution's manifest passes its own check.
func FuzzCronJob(f *testing.F) {
	f.Add(fixtureBytes(f, "cronjob.json"))
	f.Add([]byte(`{"metadata":{"name":"a","namespace":"b"},"spec":{"jobTemplate":{"metadata":{},"spec":{"template":{"metadata":{},"spec":{"containers":[{"env":[]}]}}}}}}`))
	account, q := fixture(f, "serviceaccount.json"), testRequest(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		cronJob, err := ParseObject(data)
		if err != nil {
			return
		}
		q := q
		if digest, err := TemplateDigest(cronJob); err == nil {
			q.Pins.Template = digest // as if it had been reviewed
		} else {
			checkCoded(t, err)
		}
		e, err := Derive(cronJob, account, q)
		if err != nil {
			checkCoded(t, err)
			return
		}
		if err := e.CheckJob(e.Manifest); err != nil {
			t.Errorf("the manifest of %s does not pass its own check: %v", data, err)
		}
		if state, err := StateOf(e.Manifest); err == nil && state != Running {
			t.Errorf("a manifest has the state %s", state)
		}
	})
}

// FuzzServiceAccount: a ServiceAccount of any shape is the reviewed one or
// identity-drift.
func FuzzServiceAccount(f *testing.F) {
	f.Add(fixtureBytes(f, "serviceaccount.json"))
	f.Add([]byte(`{"metadata":{"annotations":{"azure.workload.identity/x":1}}}`))
	q := testRequest(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		account, err := ParseObject(data)
		if err != nil {
			return
		}
		if err := q.Pins.Binding.Verify(account); err != nil && failure.CodeOf(err) != failure.IdentityDrift {
			t.Errorf("the failure is %v, want identity-drift", err)
		}
	})
}

// FuzzJob: a Job of any shape has a state or a failure, and evidence or none.
func FuzzJob(f *testing.F) {
	f.Add(fixtureBytes(f, "job-complete.json"))
	f.Add([]byte(`{"spec":{"backoffLimit":1},"status":{"failed":2,"conditions":[{"type":"Failed","status":"True"}]}}`))
	e := testExecution(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		job, err := ParseObject(data)
		if err != nil {
			return
		}
		if err := e.CheckJob(job); err != nil {
			checkCoded(t, err)
		}
		state, err := StateOf(job)
		if err != nil {
			checkCoded(t, err)
			return
		}
		if evidence, err := Evidence(job); err != nil {
			checkCoded(t, err)
		} else if state != Running && evidence["conditions"] == nil {
			t.Errorf("an ended Job has no evidence")
		}
		_, _, _ = Deleting(job), UID(job), ResourceVersion(job)
	})
}

// FuzzContext: a context of any shape pins a template or fails with a code.
func FuzzContext(f *testing.F) {
	f.Add(fixtureBytes(f, "context.json"))
	q := testRequest(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		object, err := ParseObject(data)
		if err != nil {
			return
		}
		c, err := ReadContext(object)
		if err != nil {
			checkCoded(t, err)
			return
		}
		if _, err := c.Pins(q.Template, q.Namespace, q.ServiceAccount); err != nil {
			checkCoded(t, err)
		}
	})
}

func checkCoded(t *testing.T, err error) {
	t.Helper()
	if failure.CodeOf(err) == "" {
		t.Errorf("the failure %v has no code", err)
	}
}
