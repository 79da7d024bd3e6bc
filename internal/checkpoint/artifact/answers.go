package artifact

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxAnswer bounds an answer that is no list, in bytes.
const maxAnswer = 256 << 10

// number is one as protocol buffers write it in JSON: of 64 bits in quotes.
type number int64

// UnmarshalJSON takes it with quotes or without.
func (n *number) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	v, err := strconv.ParseInt(strings.Trim(string(data), `"`), 10, 64)
	if err != nil {
		return errors.New("it is no number of 64 bits")
	}
	*n = number(v)
	return nil
}

// created, finalized and located are answers; each has two spellings.
type created struct {
	OK       bool   `json:"ok"`
	SnakeURL string `json:"signed_upload_url"`
	CamelURL string `json:"signedUploadUrl"`
}

func (a created) url() string { return cmp.Or(a.SnakeURL, a.CamelURL) }

func (a created) check() error {
	if !a.OK || a.url() == "" {
		return errors.New("it has no address to upload to")
	}
	return nil
}

type finalized struct {
	OK      bool   `json:"ok"`
	SnakeID number `json:"artifact_id"`
	CamelID number `json:"artifactId"`
}

func (a finalized) id() int64 { return int64(cmp.Or(a.SnakeID, a.CamelID)) }

func (a finalized) check() error {
	if !a.OK {
		return errors.New("it does not say that it was done")
	}
	return nil
}

type located struct {
	SnakeURL string `json:"signed_url"`
	CamelURL string `json:"signedUrl"`
}

func (a located) url() string { return cmp.Or(a.SnakeURL, a.CamelURL) }

func (a located) check() error {
	if a.url() == "" {
		return errors.New("it has no address")
	}
	return nil
}

// listed is a row of the results service's list.
type listed struct {
	SnakeRun string `json:"workflow_run_backend_id"`
	CamelRun string `json:"workflowRunBackendId"`
	SnakeJob string `json:"workflow_job_run_backend_id"`
	CamelJob string `json:"workflowJobRunBackendId"`
	SnakeID  number `json:"database_id"`
	CamelID  number `json:"databaseId"`
	Name     string `json:"name"`
	Size     number `json:"size"`
	Digest   string `json:"digest"`
}

// row returns it as a row of ours, if its name is one.
func (l listed) row() (row, bool) {
	n, ok := parseName(l.Name)
	return row{
		name: n, id: int64(cmp.Or(l.SnakeID, l.CamelID)), size: int64(l.Size), digest: l.Digest,
		run: cmp.Or(l.SnakeRun, l.CamelRun), job: cmp.Or(l.SnakeJob, l.CamelJob),
	}, ok
}

// decode returns a function that reads an answer.
func decode[A interface{ check() error }](into *A) func(io.Reader) error {
	return func(body io.Reader) error {
		var answer A
		data, err := io.ReadAll(io.LimitReader(body, maxAnswer))
		if err != nil {
			return err
		}
		// What is in it is not told: there may be a signed address.
		if err := json.Unmarshal(data, &answer); err != nil {
			return errors.New("it is not the JSON that was expected")
		}
		*into = answer
		return answer.check()
	}
}

// decodeList reads a list without keeping it: a run has as many artifacts as its
// jobs make.
func decodeList(body io.Reader, found func(listed)) error {
	d := json.NewDecoder(body)
	if err := expect(d, '{'); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return fmt.Errorf("it is not JSON: %w", err)
		}
		if key != "artifacts" {
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return fmt.Errorf("it is not JSON: %w", err)
			}
			continue
		}
		if err := decodeRows(d, found); err != nil {
			return err
		}
	}
	return expect(d, '}')
}

func decodeRows(d *json.Decoder, found func(listed)) error {
	first, err := d.Token()
	switch {
	case err != nil:
		return fmt.Errorf("it is not JSON: %w", err)
	case first == nil:
		return nil
	case first != json.Delim('['):
		return errors.New("its artifacts are no list")
	}
	for d.More() {
		var l listed
		if err := d.Decode(&l); err != nil {
			return fmt.Errorf("an artifact in it cannot be read: %w", plain(err))
		}
		found(l)
	}
	return expect(d, ']')
}

// plain leaves out of an error of the decoder what the service wrote.
func plain(err error) error {
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return errors.New("a value is of another type")
	}
	return err
}

func expect(d *json.Decoder, want json.Delim) error {
	switch have, err := d.Token(); {
	case err != nil:
		return fmt.Errorf("it is not JSON: %w", err)
	case have != want:
		return errors.New("it is not the JSON that was expected")
	}
	return nil
}
