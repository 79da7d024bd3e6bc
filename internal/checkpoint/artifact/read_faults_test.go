package artifact

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// Whatever becomes of a request of Read: what is read was written, what could not be
// looked for is told, and one way that fails leaves the other.
func TestEveryRequestOfReadMayFail(t *testing.T) {
	t.Parallel()
	all := faults()
	all["is cut within the body"] = fault{answer: standin.CutDownload(5), lasts: true}
	n := 0
	for _, operation := range []string{"ListArtifacts", "ListRunArtifacts", "DownloadArtifact", "GetSignedArtifactURL", "GetBlob"} {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			for _, times := range []int{1, -1} {
				for _, how := range []standin.Rerun{standin.RerunFailed, standin.RerunAll} {
					f := all[name]
					if times < 0 && !f.lasts || operation == "DownloadArtifact" && name == "is cut within the body" {
						continue // A redirect has no body.
					}
					n++
					t.Run(fmt.Sprintf("%s %s/%d times/%v", operation, name, times, how), func(t *testing.T) {
						t.Parallel()
						readFault{operation, name, f, times, how}.test(t)
					})
				}
			}
		}
	}
	t.Logf("%d schedules", n)
}

type readFault struct {
	operation string
	name      string
	fault     fault
	times     int
	how       standin.Rerun
}

// once reports whether a fault is one that a second try does away with.
func (c readFault) once() bool {
	return c.times == 1 && !slices.Contains([]string{"is refused", "is not allowed", "is answered by HTML"}, c.name)
}

func (c readFault) test(t *testing.T) {
	w := newWorld(t, standin.StoresOptions{})
	first := w.open()
	mustWrite(t, first, intent("1")...)
	mustRead(t, first) // so that nothing of its is under way
	w.NextAttempt(c.how)
	met := w.on(c.operation, c.times, c.fault)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	if c.fault.hangs {
		go func() { <-met; cancel(errStop) }()
	}
	s, err := Open(ctx, w.options(w.Attempt()))
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Read(ctx, execution)
	if c.fault.hangs && isClosed(met) {
		if !errors.Is(err, errStop) || failure.CodeOf(err) != "" || len(found.Copies) > 0 {
			t.Errorf("%+v, %v, want what ended the context", found, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	documents, bad := good(found)
	for _, d := range documents {
		if !slices.ContainsFunc(intent("1"), func(other checkpoint.Document) bool { return cmp.Equal(d, other) }) {
			t.Errorf("nobody wrote %+v", d)
		}
	}
	for _, copied := range found.Copies {
		if copied.Err != nil {
			wantFailure(t, copied.Err, failure.CheckpointStoreFailed, execution+".dispatch-intent.1")
			w.checkSecrets(copied.Err.Error())
		}
	}
	c.check(t, found, documents, bad)
}

func (c readFault) check(t *testing.T, found checkpoint.Found, documents []checkpoint.Document, bad int) {
	t.Helper()
	wantDocuments, wantBad, wantBlind := 2, 0, failure.Code("")
	internal := c.how == standin.RerunFailed
	lost := !c.once()
	switch {
	case !lost:
	case c.operation == "ListArtifacts":
		wantBlind = failure.CheckpointStoreFailed
	case c.operation == "ListRunArtifacts":
		wantBlind = failure.CheckpointStoreFailed
		if c.name == "is not allowed" {
			wantBlind = failure.PermissionDenied
		}
		if !internal {
			wantDocuments = 0
		}
	case c.operation == "DownloadArtifact" && !internal, c.operation == "GetBlob" && (c.times < 0 || !internal):
		wantDocuments, wantBad = 0, 1
	}
	if len(documents) != wantDocuments || bad != wantBad {
		t.Errorf("%d documents and %d that cannot be read, want %d and %d", len(documents), bad, wantDocuments, wantBad)
	}
	if have := failure.CodeOf(found.Blind); have != wantBlind || found.Complete != (wantBlind == "") {
		t.Errorf("complete %t, blind %v, want %q", found.Complete, found.Blind, wantBlind)
	}
	if found.Blind != nil {
		wantFailure(t, found.Blind, wantBlind)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// What two ways lead to is unreadable only when both fail, and both are told.
func TestBothWaysFail(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.StoresOptions{UnsignedEarlier: true})
	mustWrite(t, w.open(), intent("1")...)
	w.NextAttempt(standin.RerunFailed)
	w.on("DownloadArtifact", -1, fault{answer: standin.Status(http.StatusBadGateway, "")})
	found := mustRead(t, w.open())
	if len(found.Copies) != 1 {
		t.Fatalf("%+v", found.Copies)
	}
	wantFailure(t, found.Copies[0].Err, failure.CheckpointStoreFailed,
		"HTTP 502 (Bad Gateway), at the last of 5 tries; and in another way: locating the artifact", "HTTP 404", "artifact not found")
}
