package checkpoint

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// numbered returns the nth execution's name and its records, of very different
// sizes, the same in every process.
func numbered(n int) (string, []Record) {
	name := fmt.Sprintf("fdai-kill-%d", n)
	long := strings.Repeat(strconv.Itoa(n), 1+(n%4)*40_000)
	return name, []Record{
		{Step: Manifest, Content: contract.Object{"name": name, "long": long}},
		{Step: Prepared, Content: contract.Object{"name": name}},
		{Step: Terminal, Content: contract.Object{"name": name, "end": "here"}},
	}
}

// putForever stores records until it is killed, and says how far it came.
func putForever(path string) error {
	first, err := strconv.Atoi(os.Getenv(firstVariable))
	if err != nil {
		return err
	}
	f, err := OpenFolder(path)
	if err != nil {
		return err
	}
	for n := first; ; n++ {
		name, records := numbered(n)
		for _, r := range records {
			if err := f.Put(context.Background(), name, r); err != nil {
				return err
			}
		}
		fmt.Println(n)
	}
}

// TestKilledWhilePutting kills a process that stores one record after the
// other, at a random moment, again and again: every record is there whole or
// not at all, what it said is stored is stored, and the next one goes on.
func TestKilledWhilePutting(t *testing.T) {
	t.Parallel()
	const rounds = 50
	path := workFolder(t)
	next, halfWritten, stored := 0, 0, 0
	for round := range rounds {
		p := start(t, "put", path, firstVariable+"="+strconv.Itoa(next))
		said := next - 1
		if p.line(t) != strconv.Itoa(next) {
			t.Fatalf("round %d: %s", round, p.lines.Text())
		}
		said++
		var reader sync.WaitGroup
		reader.Go(func() {
			for p.lines.Scan() {
				if n, err := strconv.Atoi(p.lines.Text()); err == nil {
					said = n
				} else {
					t.Errorf("round %d: %s", round, p.lines.Text())
				}
			}
		})
		time.Sleep(time.Duration(rand.IntN(15_000)) * time.Microsecond)
		_ = p.cmd.Process.Kill()
		reader.Wait() // all of the output first: Wait closes the pipe
		_ = p.cmd.Wait()
		left, err := filepath.Glob(path + "/.*.tmp-*")
		must(t, err)
		halfWritten += len(left)
		stored += checkNumbered(t, path, next, said)
		next = said + 1
	}
	t.Logf("%d rounds: %d records stored, %d half-written files removed", rounds, stored, halfWritten)
	if halfWritten == 0 {
		t.Error("no process was killed in the middle of a put: this test shows nothing")
	}
	if t.Failed() {
		return
	}
	f := openFolder(t, path)
	for n := range next { // whoever comes later finds all of them equal
		name, records := numbered(n)
		for _, r := range records {
			must(t, f.Put(t.Context(), name, r))
		}
	}
}

// checkNumbered opens the folder after a kill and returns how many records of
// the executions from first on it holds. Those up to said must be complete; of
// the one after it, any may be there.
func checkNumbered(t *testing.T, path string, first, said int) int {
	t.Helper()
	f, err := OpenFolder(path)
	must(t, err)
	defer func() { must(t, f.Close()) }()
	if left, err := filepath.Glob(path + "/.*.tmp-*"); err != nil || len(left) > 0 {
		t.Errorf("opening left half-written files: %v, %v", left, err)
	}
	stored := 0
	for n := first; n <= said+2; n++ {
		name, want := numbered(n)
		have, err := f.Load(t.Context(), name)
		must(t, err)
		stored += len(have)
		if n <= said && len(have) != len(want) || n == said+2 && len(have) != 0 {
			t.Errorf("of execution %d there are %d records; the last one said to be stored was %d", n, len(have), said)
		}
		missing := false
		for _, r := range want {
			h, there := have[r.Step]
			switch {
			case there && missing:
				t.Errorf("execution %d has %s but not an earlier record", n, r.Step)
			case there && !h.Equal(r):
				t.Errorf("execution %d has another %s", n, r.Step)
			}
			missing = missing || !there
		}
	}
	return stored
}
