package bundle

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
)

func unpack(execution string, data []byte) ([]checkpoint.Document, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("there are %d bytes, at most %d are allowed", len(data), MaxSize)
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("it is no zip file: %w", err)
	}
	if most := 2 * len(checkpoint.SharedSteps()); len(r.File) > most {
		return nil, fmt.Errorf("there are %d files, at most %d are allowed", len(r.File), most)
	}
	u := unpacker{execution: execution, left: MaxSize, seals: map[checkpoint.Step]string{}}
	for _, f := range r.File {
		if err := u.file(f); err != nil {
			return nil, err
		}
	}
	return u.join()
}

// unpacker collects what is in a bundle.
type unpacker struct {
	execution string
	left      int64 // how many bytes may still come
	documents []checkpoint.Document
	seals     map[checkpoint.Step]string
}

func (u *unpacker) file(f *zip.File) error {
	name, seal := strings.CutSuffix(f.Name, sealSuffix)
	step, ok := u.step(name)
	if !ok {
		return fmt.Errorf("there is a file %.100q, which is no record of it", f.Name)
	}
	data, err := u.read(f)
	if err != nil {
		return fmt.Errorf("reading %s: %w", f.Name, err)
	}
	if seal {
		return u.sign(step, f.Name, string(data))
	}
	if slices.ContainsFunc(u.documents, func(d checkpoint.Document) bool { return d.Step == step }) {
		return fmt.Errorf("%s is there twice", f.Name)
	}
	u.documents = append(u.documents, checkpoint.Document{Step: step, Data: data})
	return nil
}

func (u *unpacker) sign(step checkpoint.Step, name, text string) error {
	if _, ok := u.seals[step]; ok {
		return fmt.Errorf("%s is there twice", name)
	}
	text = strings.TrimSuffix(text, "\n")
	if text == "" || len(text) > MaxSeal || strings.ContainsAny(text, "\r\n") {
		return fmt.Errorf("%s is not one line of at most %d bytes", name, MaxSeal)
	}
	u.seals[step] = text
	return nil
}

// step returns the step whose document has the name.
func (u *unpacker) step(name string) (checkpoint.Step, bool) {
	for _, step := range checkpoint.SharedSteps() {
		if name == checkpoint.FileName(u.execution, step) {
			return step, true
		}
	}
	return "", false
}

// read returns the content of a file, whatever its header says of the size.
func (u *unpacker) read(f *zip.File) ([]byte, error) {
	if !f.Mode().IsRegular() {
		return nil, errors.New("it is no ordinary file")
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, u.left+1))
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	u.left -= int64(len(data))
	if u.left < 0 {
		return nil, fmt.Errorf("there are more than %d bytes", MaxSize)
	}
	return data, nil
}

// join gives each document its seal.
func (u *unpacker) join() ([]checkpoint.Document, error) {
	if len(u.documents) == 0 {
		return nil, errors.New("there is none")
	}
	for i, d := range u.documents {
		u.documents[i].Seal = u.seals[d.Step]
		delete(u.seals, d.Step)
	}
	for step := range u.seals {
		return nil, fmt.Errorf("there is a seal of the step %s, and no record", step)
	}
	return u.documents, nil
}
