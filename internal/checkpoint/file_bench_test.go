package checkpoint

import (
	"fmt"
	"os"
	"testing"
)

// BenchmarkPut stores a new record: a file, with two flushes.
func BenchmarkPut(b *testing.B) {
	f := openFolder(b, workFolder(b))
	binding := Bind(execution(job))
	for _, step := range []Step{Prepared, Manifest} {
		r := record(b, binding, step)
		b.Run(string(step), func(b *testing.B) {
			for b.Loop() {
				name := fmt.Sprintf("e-%d", next())
				if err := f.Put(b.Context(), name, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPutEqual puts a record that is there already, as a resumed run does.
func BenchmarkPutEqual(b *testing.B) {
	f := openFolder(b, workFolder(b))
	r := record(b, Bind(execution(job)), Prepared)
	for b.Loop() {
		if err := f.Put(b.Context(), job, r); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReplay opens a folder, loads an execution that ended, and closes it.
func BenchmarkReplay(b *testing.B) {
	path := workFolder(b)
	f, err := OpenFolder(path)
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range allRecords(b, Bind(execution(job))) {
		if err := f.Put(b.Context(), job, r); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		f, err := OpenFolder(path)
		if err != nil {
			b.Fatal(err)
		}
		if records, err := f.Load(b.Context(), job); err != nil || len(records) != len(Steps()) {
			b.Fatal(records, err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTwoFlushes is what the disk alone takes for a record: the floor that
// BenchmarkPut is measured against.
func BenchmarkTwoFlushes(b *testing.B) {
	path := workFolder(b)
	dir, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	data := make([]byte, 800)
	for b.Loop() {
		name := fmt.Sprintf("%s/e-%d", path, next())
		f, err := os.OpenFile(name+".tmp", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			b.Fatal(err)
		}
		for _, do := range []func() error{
			func() error { _, err := f.Write(data); return err },
			f.Sync, f.Close, func() error { return os.Rename(name+".tmp", name) }, dir.Sync,
		} {
			if err := do(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

var counter int

func next() int {
	counter++
	return counter
}
