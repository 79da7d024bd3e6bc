package image

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"
)

func images(t *testing.T) map[string]Image {
	t.Helper()
	a, err := New("a", []byte("program a"), "1:1")
	if err != nil {
		t.Fatal(err)
	}
	b, err := New("b", []byte("program b"), "2:2")
	if err != nil {
		t.Fatal(err)
	}
	return map[string]Image{"example.com/a:1": a, "example.com/b@" + b.Digest(): b}
}

func TestSameProgramsSameBytes(t *testing.T) {
	t.Parallel()
	var first, second bytes.Buffer
	if err := errors.Join(Write(&first, images(t)), Write(&second, images(t))); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two archives of the same programs differ")
	}
	changed, err := New("a", []byte("program c"), "1:1")
	if err != nil {
		t.Fatal(err)
	}
	if changed.Digest() == images(t)["example.com/a:1"].Digest() {
		t.Error("another program has the same digest")
	}
}

// TestArchiveIsComplete follows every reference from the index down.
func TestArchiveIsComplete(t *testing.T) {
	t.Parallel()
	var archive bytes.Buffer
	if err := Write(&archive, images(t)); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	r := tar.NewReader(&archive)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.IsZero() && h.ModTime.Unix() != 0 {
			t.Errorf("%s has the time %v", h.Name, h.ModTime)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	blob := func(d descriptor) []byte {
		b, ok := files["blobs/sha256/"+d.Digest[len("sha256:"):]]
		if !ok || digest(b) != d.Digest || len(b) != d.Size {
			t.Errorf("%+v is missing or not what it says", d)
		}
		return b
	}
	var index struct{ Manifests []descriptor }
	if err := json.Unmarshal(files["index.json"], &index); err != nil {
		t.Fatal(err)
	}
	if len(index.Manifests) != 2 {
		t.Fatalf("%d images, want 2", len(index.Manifests))
	}
	for _, d := range index.Manifests {
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		if err := json.Unmarshal(blob(d), &manifest); err != nil {
			t.Fatal(err)
		}
		var config struct {
			Config struct{ User string }
			RootFS struct {
				DiffIDs []string `json:"diff_ids"`
			}
		}
		if err := json.Unmarshal(blob(manifest.Config), &config); err != nil {
			t.Fatal(err)
		}
		if len(manifest.Layers) != 1 || digest(blob(manifest.Layers[0])) != config.RootFS.DiffIDs[0] {
			t.Errorf("%s: layers %+v do not match the configuration %+v", d.Annotations[nameAnnotation], manifest.Layers, config)
		}
		if config.Config.User == "" {
			t.Errorf("%s would run as root", d.Annotations[nameAnnotation])
		}
	}
}
