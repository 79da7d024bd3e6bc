package checkpoint

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// MinKeyLength is the fewest bytes of a [Key]: as many as the hash has, below
// which a key is weaker than the code that it makes (RFC 2104, section 3).
const MinKeyLength = sha256.Size

// Key authenticates documents in shared places, where others can write too. The
// zero value is no key: nothing is signed then, and no signature is looked at.
type Key struct{ secret []byte }

// NewKey returns the key that a secret text is. The error says that it is too
// short.
func NewKey(secret string) (Key, error) {
	if len(secret) < MinKeyLength {
		return Key{}, fmt.Errorf("has %d bytes, at least %d are needed", len(secret), MinKeyLength)
	}
	return Key{[]byte(secret)}, nil
}

// IsZero reports whether there is no key.
func (k Key) IsZero() bool { return len(k.secret) == 0 }

// Seal returns the record as it is kept in a shared place, signed if there is a
// key. The record itself stays as the dialect defines it.
func (k Key) Seal(execution string, record Record) (Document, error) {
	data, err := record.Encode()
	if err != nil {
		return Document{}, err
	}
	d := Document{Step: record.Step, Data: data}
	if !k.IsZero() {
		d.Signature = hex.EncodeToString(k.code(execution, d))
	}
	return d, nil
}

// Open returns the record that a document found in a shared place is. where names
// it in messages.
//
// With a key, a document that is not signed, or not with this key, for this
// execution and this step, is refused before anything of it is looked at. With or
// without one the record must be of the step and the execution, and have its own
// digest. Whether it fits the execution in all else is for [Binding.Validate].
// The error is checkpoint-differs.
func (k Key) Open(execution string, d Document, where string) (Record, error) {
	if !k.IsZero() {
		switch code, err := hex.DecodeString(d.Signature); {
		case d.Signature == "":
			return Record{}, Differs(where, "the retained record is not signed, and a checkpoint-key is set").WithFix(fixUnsigned)
		case err != nil || !hmac.Equal(code, k.code(execution, d)):
			return Record{}, Differs(where, "the retained record is not signed with this checkpoint-key").WithFix(fixUnsigned)
		}
	}
	content, err := parse(where, d.Data)
	if err != nil {
		return Record{}, err
	}
	record := Record{Step: d.Step, Content: content}
	for _, field := range []struct{ key, want string }{{"name", execution}, {"state", string(d.Step)}} {
		if err := same(where, field.key, content[field.key], field.want); err != nil {
			return Record{}, err
		}
	}
	return record, checkDigest(where, record)
}

const fixUnsigned = "Somebody without the key may have written it, or the key was set or changed since. " +
	"Look at who can write there; when the key was changed, run with the one from before"

// code authenticates a document as that of a step of an execution. The parts
// cannot run into each other: neither name holds a line end.
func (k Key) code(execution string, d Document) []byte {
	mac := hmac.New(sha256.New, k.secret)
	mac.Write([]byte("aks-oneshot checkpoint\n" + execution + "\n" + string(d.Step) + "\n"))
	mac.Write(d.Data)
	return mac.Sum(nil)
}

// checkDigest holds a record against its own digest.
func checkDigest(where string, r Record) error {
	material := maps.Clone(map[string]any(r.Content))
	delete(material, "checkpoint_digest")
	digest, err := contract.DigestOf(material)
	if err != nil {
		return Differs(where, "the retained record cannot be digested: %w", err)
	}
	return same(where, "checkpoint_digest", r.Content["checkpoint_digest"], digest.String())
}
