// Package image makes container images of one static program each, and the
// archive that containerd imports them from. The same programs give the same
// bytes: an image's digest is a promise that tests rely on.
package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"runtime"
	"slices"
)

const (
	mediaIndex    = "application/vnd.oci.image.index.v1+json"
	mediaManifest = "application/vnd.oci.image.manifest.v1+json"
	mediaConfig   = "application/vnd.oci.image.config.v1+json"
	mediaLayer    = "application/vnd.oci.image.layer.v1.tar"

	// nameAnnotation is where containerd finds an image's full name.
	nameAnnotation = "io.containerd.image.name"
)

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Image is an image with one layer.
type Image struct {
	layer, config, manifest []byte
}

// New makes an image whose only file is /name, which is also what it runs, as
// that user.
func New(name string, program []byte, user string) (Image, error) {
	layer, err := layerOf(name, program)
	if err != nil {
		return Image{}, err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"created":      "1970-01-01T00:00:00Z",
		"config":       map[string]any{"Entrypoint": []string{"/" + name}, "User": user, "WorkingDir": "/"},
		"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{digest(layer)}},
	})
	if err != nil {
		return Image{}, err
	}
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2,
		"mediaType":     mediaManifest,
		"config":        descriptor{MediaType: mediaConfig, Digest: digest(config), Size: len(config)},
		"layers":        []descriptor{{MediaType: mediaLayer, Digest: digest(layer), Size: len(layer)}},
	})
	return Image{layer: layer, config: config, manifest: manifest}, err
}

// Digest is what the image is pinned by.
func (i Image) Digest() string { return digest(i.manifest) }

func layerOf(name string, program []byte) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	// A folder that everybody may write to: a scratch image has none.
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}); err != nil {
		return nil, err
	}
	if err := writeFile(w, name, 0o755, program); err != nil {
		return nil, err
	}
	return b.Bytes(), w.Close()
}

// Write writes an OCI layout with images by name, as a tar archive.
func Write(out io.Writer, images map[string]Image) error {
	w := tar.NewWriter(out)
	index := struct {
		SchemaVersion int          `json:"schemaVersion"`
		MediaType     string       `json:"mediaType"`
		Manifests     []descriptor `json:"manifests"`
	}{SchemaVersion: 2, MediaType: mediaIndex}
	if err := writeFile(w, "oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(images)) {
		img := images[name]
		for _, blob := range [][]byte{img.layer, img.config, img.manifest} {
			if err := writeFile(w, "blobs/sha256/"+digest(blob)[len("sha256:"):], 0o644, blob); err != nil {
				return err
			}
		}
		index.Manifests = append(index.Manifests, descriptor{
			MediaType: mediaManifest, Digest: img.Digest(), Size: len(img.manifest),
			Annotations: map[string]string{nameAnnotation: name},
		})
	}
	b, err := json.Marshal(index)
	if err != nil {
		return err
	}
	if err := writeFile(w, "index.json", 0o644, b); err != nil {
		return err
	}
	return w.Close()
}

// writeFile leaves out time and owner: they would change the digest.
func writeFile(w *tar.Writer, name string, mode int64, content []byte) error {
	err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content))})
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	return err
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
