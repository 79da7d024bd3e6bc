package standin_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

func TestNobody(t *testing.T) {
	t.Parallel()
	nobody, err := standin.NewNobody()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if conn, err := net.Dial("tcp", nobody.Address); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%v, %v", conn, err)
		}
		if listener, err := net.Listen("tcp", nobody.Address); err == nil {
			t.Errorf("somebody listens at %s", listener.Addr())
		}
	}
	if err := nobody.Close(); err != nil {
		t.Error(err)
	}
}
