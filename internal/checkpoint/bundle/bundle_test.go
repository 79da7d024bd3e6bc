package bundle

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

const execution = "fdai-inventory-aaaaaaaaaaaaaaaa"

var seal = strings.Repeat("5a", 32)

// documents returns one of each step, every other one signed.
func documents() []checkpoint.Document {
	var all []checkpoint.Document
	for i, step := range checkpoint.SharedSteps() {
		d := checkpoint.Document{Step: step, Data: []byte(`{"state":"` + string(step) + `"}` + "\n")}
		if i%2 == 1 {
			d.Seal = seal
		}
		all = append(all, d)
	}
	return all
}

func pack(tb testing.TB, all ...checkpoint.Document) []byte {
	tb.Helper()
	data, err := Pack(execution, all)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func TestWhatIsPackedIsUnpacked(t *testing.T) {
	t.Parallel()
	all := documents()
	reversed := slices.Clone(all)
	slices.Reverse(reversed)
	for name, want := range map[string][]checkpoint.Document{
		"all": all, "another order": reversed, "one": all[:1], "a signed one": all[1:2],
		"no content": {{Step: checkpoint.Intent, Data: []byte{}}},
		"the most":   {{Step: checkpoint.Intent, Data: bytes.Repeat([]byte("x"), MaxSize-1000), Seal: strings.Repeat("s", MaxSeal)}},
	} {
		data := pack(t, want...)
		if again := pack(t, want...); !bytes.Equal(data, again) {
			t.Errorf("%s: two bundles of the same differ", name)
		}
		have, err := Unpack(execution, data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("%s (-want +have):\n%s", name, diff)
		}
	}
}

// A person can unpack it into a work folder, with the ordinary tools: the names are
// those of the folder, and nobody else may read the files.
func TestItIsAnOrdinaryZip(t *testing.T) {
	t.Parallel()
	data := pack(t, documents()...)
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	binding := checkpoint.Bind(contract.Execution{Name: execution})
	var want, have []string
	for _, d := range documents() {
		want = append(want, binding.Where(d.Step))
		if d.Seal != "" {
			want = append(want, binding.Where(d.Step)+".seal")
		}
	}
	for _, f := range r.File {
		have = append(have, f.Name)
		if f.Mode() != 0o600 || f.Modified.Year() != 1980 || f.Flags != 0 {
			t.Errorf("%s: mode %v, modified %v, flags %#x", f.Name, f.Mode(), f.Modified, f.Flags)
		}
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("the names (-want +have):\n%s", diff)
	}
}

func TestPackRefuses(t *testing.T) {
	t.Parallel()
	intent := checkpoint.Document{Step: checkpoint.Intent, Data: []byte("{}\n")}
	with := func(change func(*checkpoint.Document)) []checkpoint.Document {
		d := intent
		change(&d)
		return []checkpoint.Document{d}
	}
	for says, c := range map[string]struct {
		execution string
		documents []checkpoint.Document
	}{
		`"" cannot be the name of an execution`:    {"", []checkpoint.Document{intent}},
		`"../e" cannot be the name of an exec`:     {"../e", []checkpoint.Document{intent}},
		"packing the records of e: there is none":  {"e", nil},
		"the step dispatch-intent is there twice":  {"e", []checkpoint.Document{intent, intent}},
		`the step "manifest" is kept in no shared`: {"e", with(func(d *checkpoint.Document) { d.Step = checkpoint.Manifest })},
		`the step "x" is kept in no shared place`:  {"e", with(func(d *checkpoint.Document) { d.Step = "x" })},
		"is not one line of at most 256 bytes":     {"e", with(func(d *checkpoint.Document) { d.Seal = "a\nb" })},
		"of the step dispatch-intent is not one":   {"e", with(func(d *checkpoint.Document) { d.Seal = strings.Repeat("a", 257) })},
		"bytes, at most 1048576 are allowed":       {"e", with(func(d *checkpoint.Document) { d.Data = make([]byte, MaxSize) })},
	} {
		if data, err := Pack(c.execution, c.documents); err == nil || data != nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%d bytes, %v, want %q", len(data), err, says)
		}
	}
}

// file is one in a zip that somebody else made.
type file struct {
	name, content string
	method        uint16
	mode          fs.FileMode
}

func zipped(tb testing.TB, files ...file) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: f.method}
		h.SetMode(f.mode)
		c, err := w.CreateHeader(h)
		if err == nil {
			_, err = c.Write([]byte(f.content))
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func TestUnpackTakesWhatAnotherToolPacked(t *testing.T) {
	t.Parallel()
	data := zipped(t,
		file{"e.dispatched.json.seal", seal + "\n", zip.Deflate, 0o644},
		file{"e.dispatched.json", "{}\n", zip.Deflate, 0o644})
	have, err := Unpack("e", data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]checkpoint.Document{{Step: checkpoint.Dispatched, Data: []byte("{}\n"), Seal: seal}}, have); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
}

func TestUnpackRefuses(t *testing.T) {
	t.Parallel()
	good := pack(t, documents()...)
	damaged := bytes.Replace(good, []byte(`"dispatched"`), []byte(`"dispatChed"`), 1)
	intent := file{"e.dispatch-intent.json", "{}\n", zip.Store, 0o600}
	signed := file{intent.name + sealSuffix, seal, zip.Store, 0o600}
	with := func(change func(*file)) []byte {
		f := intent
		change(&f)
		return zipped(t, f)
	}
	many := make([]file, 2*len(checkpoint.SharedSteps())+1)
	for i := range many {
		many[i] = intent
	}
	large := make([]byte, MaxSize+1)
	copy(large[len(large)-len(good):], good)
	lying := zipped(t, file{intent.name, strings.Repeat("x", 2*MaxSize), zip.Deflate, 0o600})

	for name, c := range map[string]struct {
		data []byte
		says string
	}{
		"nothing":                    {nil, "it is no zip file"},
		"a page":                     {[]byte("<html>503</html>"), "it is no zip file"},
		"cut off":                    {good[:len(good)-1], "it is no zip file"},
		"too large":                  {large, "1048577 bytes, at most 1048576 are allowed"},
		"no file":                    {zipped(t), "there is none"},
		"many files":                 {zipped(t, many...), "11 files, at most 10 are allowed"},
		"twice":                      {zipped(t, intent, intent), "e.dispatch-intent.json is there twice"},
		"signed twice":               {zipped(t, intent, signed, signed), "seal is there twice"},
		"a seal alone":               {zipped(t, signed, file{"e.terminal.json", "{}", zip.Store, 0o600}), "seal of the step dispatch-intent, and no record"},
		"only a seal":                {zipped(t, signed), "there is none"},
		"an empty seal":              {zipped(t, intent, file{signed.name, "\n", zip.Store, 0o600}), "not one line"},
		"a seal of lines":            {zipped(t, intent, file{signed.name, "a\nb\n", zip.Store, 0o600}), "not one line"},
		"a long seal":                {zipped(t, intent, file{signed.name, strings.Repeat("a", 257), zip.Store, 0o600}), "not one line"},
		"another execution":          {with(func(f *file) { f.name = "f.dispatch-intent.json" }), `a file "f.dispatch-intent.json", which is no record of it`},
		"another step":               {with(func(f *file) { f.name = "e.done.json" }), "no record of it"},
		"the manifest":               {with(func(f *file) { f.name = "e.json" }), "no record of it"},
		"a folder":                   {with(func(f *file) { f.name = "x/e.dispatch-intent.json" }), "no record of it"},
		"a way up":                   {with(func(f *file) { f.name = "../e.dispatch-intent.json" }), "no record of it"},
		"no ordinary file":           {with(func(f *file) { f.mode = fs.ModeSymlink | 0o600 }), "it is no ordinary file"},
		"small, and large within":    {lying, "more than 1048576 bytes"},
		"damaged":                    {damaged, "checksum error"},
		"a method that is not known": {bytes.ReplaceAll(with(func(f *file) { f.method = zip.Deflate }), []byte{20, 0, 8, 0, 8, 0}, []byte{20, 0, 8, 0, 99, 0}), "unsupported compression algorithm"},
	} {
		execution := "e"
		if name == "damaged" {
			execution = "fdai-inventory-aaaaaaaaaaaaaaaa"
		}
		have, err := Unpack(execution, c.data)
		if err == nil || have != nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "unpacking the records of "+execution) {
			t.Errorf("%s: %d documents, %v, want %q", name, len(have), err, c.says)
		}
	}
}

// No byte of a bundle can be changed so that other documents come of it.
func TestNoDamageGoesUnseen(t *testing.T) {
	t.Parallel()
	want := documents()[1:2]
	good := pack(t, want...)
	for i := range good {
		for _, flip := range []byte{1, 0x20, 0x80, 0xff} {
			bad := slices.Clone(good)
			bad[i] ^= flip
			if have, err := Unpack(execution, bad); err == nil && !cmp.Equal(want, have) {
				t.Errorf("byte %d ^ %#x: %v", i, flip, have)
			}
		}
		if have, err := Unpack(execution, good[:i]); err == nil {
			t.Errorf("the first %d bytes: %v", i, have)
		}
	}
}

// FuzzBundle unpacks arbitrary bytes. What is taken must be what would be packed.
func FuzzBundle(f *testing.F) {
	all := documents()
	for n := range all {
		f.Add(pack(f, all[:n+1]...))
	}
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Add(zipped(f, file{execution + ".terminal.json", "{}", zip.Deflate, 0o644}))
	f.Fuzz(func(t *testing.T, data []byte) {
		have, err := Unpack(execution, data)
		if err != nil {
			if have != nil {
				t.Fatalf("%v, and %d documents", err, len(have))
			}
			return
		}
		size := 0
		for _, d := range have {
			size += len(d.Data)
		}
		if size > MaxSize/2 {
			return // What was compressed may not fit when it is not.
		}
		again, err := Unpack(execution, pack(t, have...))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(have, again); diff != "" {
			t.Fatalf("packed again (-want +have):\n%s", diff)
		}
	})
}
