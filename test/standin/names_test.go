package standin_test

import (
	"errors"
	"net"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

func TestNames(t *testing.T) {
	t.Parallel()
	names, err := standin.NewNames("gone.example")
	if err != nil {
		t.Fatal(err)
	}
	for name, missing := range map[string]bool{"a.missing": true, "b.a.missing": true, "missing.example": false, "gone.example": true, "a.gone.example": true, "a.example": false} {
		_, err := names.Resolver().LookupHost(t.Context(), name)
		if failed, ok := errors.AsType[*net.DNSError](err); !ok || failed.IsNotFound != missing {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := names.Close(); err != nil {
		t.Error(err)
	}
}
