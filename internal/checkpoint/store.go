package checkpoint

import (
	"context"
	"errors"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// Store keeps records durably. A store is append-only: nothing in it is ever
// replaced or removed by an execution.
//
// Its methods return early when ctx ends, as far as what is below them lets
// them. The error then wraps ctx's cause and has no code: what the end of ctx
// means is for the caller to say.
type Store interface {
	// Load returns every record of the named execution. None is not an error.
	// A record that is there but cannot be read is: it might be the one that
	// says a Job was dispatched. The error is checkpoint-store-failed, or
	// checkpoint-differs for a record that is no JSON object.
	Load(ctx context.Context, execution string) (Records, error)

	// Put stores one record, and returns when it is durable. A step that is
	// stored already must have equal content, else nothing is written and the
	// error is checkpoint-differs. Any other error is checkpoint-store-failed;
	// the record may be stored all the same.
	//
	// A store that goes on by itself with what comes after a create returns an
	// error that wraps [ErrLater].
	Put(ctx context.Context, execution string, record Record) error

	// Heal has every place of the store hold what Load found last of the execution,
	// where there are several and one lost what another has. It is called once the
	// records were held against the execution, since what is not believed must not
	// be spread, and before anything is done. Where a create may follow it returns
	// when every place has the intent. The error is as of Put.
	Heal(ctx context.Context, execution string) error

	// Doubt returns why nothing must be concluded from what Load found last and from
	// a Job that is not there: records that say more may be where nobody could look.
	// The error is as of Load.
	Doubt(execution string) error
}

// ErrLater is the error of a Put whose record is not stored yet: that is tried
// again for as long as there is time, and nothing has to wait for it.
var ErrLater = errors.New("it is not stored yet, and is tried again")

// Differs returns the failure for a record that is not what it has to be.
// where is the record's place in the store: a file, an artifact, a key.
func Differs(where string, format string, args ...any) *failure.Error {
	return failure.New(failure.CheckpointDiffers, format, args...).At(where)
}

// parse reads a stored document.
func parse(where string, data []byte) (contract.Object, error) {
	object, err := contract.ParseObject(data)
	if err != nil {
		return nil, Differs(where, "the retained record cannot be read: %w", err)
	}
	return object, nil
}
