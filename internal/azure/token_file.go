package azure

import (
	"errors"
	"io/fs"
	"os"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// maxTokenFile bounds a ServiceAccount's token, in bytes: they are of 1 to 2 KiB.
const maxTokenFile = 64 << 10

// checkTokenFile makes sure that the file of a pod can be read, which the SDK
// tells in a text of its own, if at all.
func (l *login) checkTokenFile() error {
	name := l.options.Getenv("AZURE_FEDERATED_TOKEN_FILE")
	var what string
	info, err := os.Stat(name)
	switch {
	case err != nil:
		what = "is not to be had: " + l.clean(withoutPath(err), maxForeign)
	case !info.Mode().IsRegular():
		what = "is no regular file"
	case info.Size() == 0:
		what = "is empty"
	case info.Size() > maxTokenFile:
		what = "is too large to be a token"
	default:
		return nil
	}
	return failure.New(failure.CredentialFailed, "%s: the file that AZURE_FEDERATED_TOKEN_FILE names %s", l.asking(), what).
		WithFix("%s", fixPod)
}

func withoutPath(err error) string {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err.Error()
	}
	return err.Error()
}

const fixPod = "The webhook of workload identity sets it in pods with the label azure.workload.identity/use: \"true\"; run this in one, or choose another auth"
