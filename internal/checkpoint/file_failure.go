package checkpoint

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/private"
)

// openFailure codes an error of opening the work folder: what another path
// would mend is the path's fault. What the path was given as is the caller's to
// say.
func openFailure(path string, err error) error {
	if v, ok := errors.AsType[*private.Violation](err); ok {
		return failure.New(failure.ConfigInvalid, "%w", v).WithFix("%s. A work folder that does not exist yet is created", v.Fix)
	}
	for _, kind := range []error{fs.ErrPermission, syscall.EROFS, syscall.ENAMETOOLONG} {
		if errors.Is(err, kind) {
			return failure.New(failure.ConfigInvalid, "opening the work folder %s: %w", path, err).
				WithFix("Choose a folder that the user this runs as can read and write")
		}
	}
	return storeFailure("", "opening", path, err)
}

func lockFailure(path string, err error) error {
	switch {
	case errors.Is(err, private.ErrLocked):
		return failure.New(failure.CheckpointStoreFailed, "another run is using the work folder %s: %w", path, err).
			WithFix("Wait until that run has ended and run again; do not remove its %s", lockName)
	case isViolation(err):
		return Differs(lockName, "%w", err)
	}
	return storeFailure("", "locking", path, err)
}

func readFailure(name, path string, err error) error {
	if isViolation(err) {
		return Differs(name, "%w", err)
	}
	return storeFailure(name, "reading "+name+" in", path, err)
}

// storeFailure codes an error of the work folder that no input is to blame for.
func storeFailure(where, doing, path string, err error) error {
	f := failure.New(failure.CheckpointStoreFailed, "%s the work folder %s: %w", doing, path, err).At(where)
	full := []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}
	if slices.ContainsFunc(full, func(kind error) bool { return errors.Is(err, kind) }) {
		return f.WithFix("Make room for the work folder and run again; it resumes")
	}
	return f
}

func isViolation(err error) bool {
	_, ok := errors.AsType[*private.Violation](err)
	return ok
}
