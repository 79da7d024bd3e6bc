package peers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// shared is what all tests use, each with names of its own.
var shared struct {
	node      *Node
	authority *standin.Authority
	caFile    string
	ledger    *standin.Ledger
	azurite   *Azurite
}

func TestMain(m *testing.M) {
	status, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "test/peers:", err)
		status = 1
	}
	os.Exit(status)
}

func run(m *testing.M) (status int, err error) {
	// The first time the packages are fetched.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if shared.node, err = NewNode(ctx, dir); err != nil {
		return 1, err
	}
	if shared.authority, err = standin.NewAuthority("peers"); err != nil {
		return 1, err
	}
	shared.caFile = filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(shared.caFile, shared.authority.PEM, 0o600); err != nil {
		return 1, err
	}
	// A library that makes its own client goes by the authorities of the system.
	if err := os.Setenv("SSL_CERT_FILE", shared.caFile); err != nil {
		return 1, err
	}
	shared.ledger = standin.NewLedger()
	if shared.azurite, err = StartAzurite(ctx, shared.node, shared.authority, shared.ledger, filepath.Join(dir, "azurite")); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, shared.azurite.Close()) }()
	return m.Run(), nil
}
