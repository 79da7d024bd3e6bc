package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// tokenIssuer is what the issuer of Entra's access tokens begins with.
const tokenIssuer = "https://sts.windows.net"

// Trust makes an API server take the tokens of Entra as one of AKS does. It is
// there before the cluster and ends after it. Every scenario has stand-ins of its
// own; they sign with one key and name one issuer, so that to the API server they
// are one Entra.
type Trust struct {
	entra *standin.Entra
	file  string
}

// NewTrust writes the configuration into a folder. The API server reads its keys
// here for as long as it runs.
func NewTrust(dir string) (*Trust, error) {
	authority, err := standin.NewAuthority("entra")
	if err != nil {
		return nil, err
	}
	entra, err := standin.NewEntra(authority, standin.NewLedger())
	if err != nil {
		return nil, err
	}
	t := &Trust{entra: entra, file: filepath.Join(dir, "authentication.yaml")}
	entra.Change(func(o *standin.EntraOptions) { o.TokenIssuer = tokenIssuer })
	entra.AddTenant(TenantID)
	configuration, err := entra.AuthenticationConfiguration(authority, TenantID, standin.AKSServerID)
	if err == nil {
		err = os.WriteFile(t.file, configuration, 0o600)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("preparing the API server's trust: %w", err), entra.Close())
	}
	return t, nil
}

// APIServerArgs are for the cluster that is to trust Entra.
func (t *Trust) APIServerArgs() []string {
	return []string{"--authentication-config=" + t.file}
}

// Close ends it, and is for when the cluster has ended.
func (t *Trust) Close() error { return t.entra.Close() }
