// Package bundle is the form in which the records of a step are kept where a place
// takes files: a small zip, which a person can unpack into a work folder.
package bundle

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"slices"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
)

const (
	// MaxSize bounds a bundle, and what is in it, in bytes. A record has a few
	// thousand.
	MaxSize = 1 << 20
	// MaxSeal bounds the text of a seal, in bytes.
	MaxSeal = 256

	// sealSuffix makes the name of a document's seal of the document's.
	sealSuffix = ".seal"
	// version is that of the zip format in which files have neither folders nor a
	// compression (APPNOTE, 4.4.3).
	version = 10
	// date is the first day that the format knows, 1980-01-01 (APPNOTE, 4.4.6):
	// the same documents make the same bundle.
	date = 1<<5 | 1
	// mode is what a file in a work folder must have.
	mode fs.FileMode = 0o600
)

// Pack returns the bundle of documents of an execution: each under the name that it
// has in the work folder, byte for byte, then its seal when there is one. The
// same documents in the same order make the same bytes.
//
// The error says which document cannot be in a bundle.
func Pack(execution string, documents []checkpoint.Document) ([]byte, error) {
	if !checkpoint.IsExecution(execution) {
		return nil, fmt.Errorf("packing records: %q cannot be the name of an execution", execution)
	}
	if len(documents) == 0 {
		return nil, errors.New("packing the records of " + execution + ": there is none")
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	seen := map[checkpoint.Step]bool{}
	for _, d := range documents {
		if err := check(d, seen); err != nil {
			return nil, fmt.Errorf("packing the records of %s: %w", execution, err)
		}
		name := checkpoint.FileName(execution, d.Step)
		if err := add(w, name, d.Data); err != nil {
			return nil, fmt.Errorf("packing %s: %w", name, err)
		}
		if d.Seal == "" {
			continue
		}
		if err := add(w, name+sealSuffix, []byte(d.Seal+"\n")); err != nil {
			return nil, fmt.Errorf("packing the seal of %s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("packing the records of %s: %w", execution, err)
	}
	if b.Len() > MaxSize {
		return nil, fmt.Errorf("packing the records of %s: they have %d bytes, at most %d are allowed", execution, b.Len(), MaxSize)
	}
	return b.Bytes(), nil
}

func check(d checkpoint.Document, seen map[checkpoint.Step]bool) error {
	switch {
	case !slices.Contains(checkpoint.SharedSteps(), d.Step):
		return fmt.Errorf("a record of the step %q is kept in no shared place", string(d.Step))
	case seen[d.Step]:
		return fmt.Errorf("the step %s is there twice", d.Step)
	case len(d.Seal) > MaxSeal || strings.ContainsAny(d.Seal, "\r\n"):
		return fmt.Errorf("the seal of the step %s is not one line of at most %d bytes", d.Step, MaxSeal)
	}
	seen[d.Step] = true
	return nil
}

// add stores a file as it is. Its sizes stand before it, so that it can be read by
// those who read a zip from its beginning.
func add(w *zip.Writer, name string, data []byte) error {
	size := uint64(len(data))
	h := &zip.FileHeader{
		Name: name, Method: zip.Store, ReaderVersion: version,
		CompressedSize64: size, UncompressedSize64: size, CRC32: crc32.ChecksumIEEE(data),
		ModifiedDate: date, //nolint:staticcheck // Modified is not looked at for what is stored raw
	}
	h.SetMode(mode)
	f, err := w.CreateRaw(h)
	if err == nil {
		_, err = f.Write(data)
	}
	return err
}

// Holds reports whether what is stored has all documents, as they are: a place that
// has them is left alone. It is false of a copy that says the same and is not as good,
// since one is missing or signed otherwise.
//
// The last document is that of the step. Where it is stored with other content, the
// error is [checkpoint.ErrTaken].
func Holds(stored, documents []checkpoint.Document) (bool, error) {
	find := func(step checkpoint.Step) int {
		return slices.IndexFunc(stored, func(d checkpoint.Document) bool { return d.Step == step })
	}
	step := documents[len(documents)-1]
	if at := find(step.Step); at >= 0 && !bytes.Equal(stored[at].Data, step.Data) {
		return false, checkpoint.ErrTaken
	}
	for _, d := range documents {
		at := find(d.Step)
		if at < 0 || stored[at].Seal != d.Seal || !bytes.Equal(stored[at].Data, d.Data) {
			return false, nil
		}
	}
	return true, nil
}

// Unpack returns the documents of a bundle, in the order in which they are there. It
// judges none: what they say is as far from being believed as before.
//
// Everything that [Pack] does not make is an error: other names, a name twice, a
// seal without its document, a file that is damaged, or more than is allowed.
// A file may be compressed, for the sake of those who pack one again by hand.
func Unpack(execution string, data []byte) ([]checkpoint.Document, error) {
	documents, err := unpack(execution, data)
	if err != nil {
		return nil, fmt.Errorf("unpacking the records of %s: %w", execution, err)
	}
	return documents, nil
}
