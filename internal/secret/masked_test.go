package secret

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMasked(t *testing.T) {
	t.Parallel()
	const sig = "CeLCccFbOy2shgjfcVXF1OF3DA53bllD"
	var told []string
	m := NewMasked(func(text string) { told = append(told, text) }, "the runtime token", "", "the github token")
	m.Add("a \"quoted\" one")
	m.Add("the github token") // Once is enough.
	m.AddSigned("https://blobs.example/records/a-job.terminal.1?se=2026&sig=" + sig)
	m.AddSigned("://no address at all")
	want := []string{"the runtime token", "the github token", "a \"quoted\" one", `a \"quoted\" one`, sig, "://no address at all"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if got := m.Hide("a-job.terminal.1 with " + sig + " and the github token"); got != "a-job.terminal.1 with *** and ***" {
		t.Errorf("got %q", got)
	}
	silent := NewMasked(nil, "the runtime token")
	if got := silent.Hide("the runtime token"); got != "***" {
		t.Errorf("got %q", got)
	}
}
