package checkpoint

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// MinKeyLength is the fewest bytes of a [Key]: as many as the hash has, below
// which a key is weaker than the code that it makes (RFC 2104, section 3).
const MinKeyLength = sha256.Size

// Key says what documents in shared places are of this run's: of its cluster,
// since names of executions say nothing of that, and, with a secret, written by
// those who know it, since others can write there too.
type Key struct {
	secret  []byte
	cluster string
	// anywhere has Open take records of every cluster.
	anywhere bool
}

// NewKey returns the key that a secret text is. The error says that it is too
// short.
func NewKey(secret string) (Key, error) {
	if len(secret) < MinKeyLength {
		return Key{}, fmt.Errorf("has %d bytes, at least %d are needed", len(secret), MinKeyLength)
	}
	return Key{secret: []byte(secret)}, nil
}

// For returns the key for records of one cluster, which identity tells from all
// others.
func (k Key) For(identity string) Key {
	sum := sha256.Sum256([]byte("aks-oneshot cluster\n" + identity))
	k.cluster = hex.EncodeToString(sum[:8])
	return k
}

// Anywhere returns the key for a place that is in the cluster itself: what is there
// is of that cluster, also where its certificate authority was changed since.
func (k Key) Anywhere() Key {
	k.anywhere = true
	return k
}

// IsZero reports whether there is no secret: nothing is authenticated then.
func (k Key) IsZero() bool { return len(k.secret) == 0 }

// Seal returns the record as it is kept in a shared place. The record itself stays
// as the dialect defines it.
func (k Key) Seal(execution string, record Record) (Document, error) {
	data, err := record.Encode()
	if err != nil {
		return Document{}, err
	}
	d := Document{Step: record.Step, Data: data}
	var parts []string
	if k.cluster != "" {
		parts = append(parts, clusterPart+k.cluster)
	}
	if !k.IsZero() {
		parts = append(parts, codePart+hex.EncodeToString(k.code(k.cluster, execution, d)))
	}
	d.Seal = strings.Join(parts, " ")
	return d, nil
}

// The parts of a seal, in their order.
const (
	clusterPart = "cluster="
	codePart    = "hmac-sha256="
)

// Open returns the record that a document found in a shared place is. where names
// it in messages.
//
// A document of another cluster is refused. With a secret, so is one that is not
// signed, or not with this secret, for this cluster, execution and step, before
// anything of it is looked at. The record must be of the step and the execution,
// and have its own digest. Whether it fits the execution in all else is for
// [Binding.Validate]. The error is checkpoint-differs.
func (k Key) Open(execution string, d Document, where string) (Record, error) {
	cluster, code := parts(d.Seal)
	if !k.anywhere {
		if err := k.Own(cluster, where); err != nil {
			return Record{}, err
		}
		if k.cluster != "" && cluster == "" {
			return Record{}, Differs(where, "the retained record does not say which cluster it is of").
				WithFix("Somebody else than aks-oneshot may have written it: look at who can write there")
		}
	}
	if !k.IsZero() {
		signed := k.cluster
		if k.anywhere {
			signed = cluster
		}
		switch want := k.code(signed, execution, d); {
		case code == "":
			return Record{}, Differs(where, "the retained record is not signed, and a checkpoint-key is set").WithFix(fixUnsigned)
		case !hmac.Equal([]byte(code), []byte(hex.EncodeToString(want))):
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

// Own returns the failure for what is of another cluster than the key's, nil where
// either is not known.
func (k Key) Own(cluster, where string) error {
	if k.cluster == "" || cluster == "" || cluster == k.cluster {
		return nil
	}
	return Differs(where, "the retained record is of an execution of the same name on another cluster (%s, this is %s)", cluster, k.cluster).
		WithFix("Where these are two clusters, give each a target-binding of its own, which makes its executions others. " +
			"Where it is one, whose certificate authority was changed, do not, since other work is dispatched once more: docs/stores.md says how to resume")
}

const fixUnsigned = "Somebody without the key may have written it, or the key was set or changed since. " +
	"Look at who can write there; when the key was changed, run with the one from before"

// Cluster names the cluster that records are sealed for, "" for none.
func (k Key) Cluster() string { return k.cluster }

// IsSigned reports whether a document says that somebody with a secret wrote it.
func (d Document) IsSigned() bool {
	_, code := parts(d.Seal)
	return code != ""
}

// parts returns what a seal says of the cluster and, in hexadecimal, of who wrote
// the document; "" for what it does not say.
func parts(seal string) (cluster, code string) {
	for part := range strings.SplitSeq(seal, " ") {
		if value, ok := strings.CutPrefix(part, clusterPart); ok {
			cluster = value
		} else if value, ok := strings.CutPrefix(part, codePart); ok {
			code = value
		}
	}
	return cluster, code
}

// code authenticates a document as that of a step of an execution on a cluster.
// The parts cannot run into each other: none of the names holds a line end.
func (k Key) code(cluster, execution string, d Document) []byte {
	mac := hmac.New(sha256.New, k.secret)
	mac.Write([]byte("aks-oneshot checkpoint\n" + cluster + "\n" + execution + "\n" + string(d.Step) + "\n"))
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
