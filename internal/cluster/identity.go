package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"net/url"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
)

// Identity tells the cluster from every other one, as far as that is known before
// it is asked: by the certificate authority of its API server, which AKS makes for
// each cluster, and which stays the same by whatever name or way in the server is
// reached (https://learn.microsoft.com/azure/aks/certificate-rotation). The path of
// the address is part of it, for gateways that have several clusters behind one
// certificate. Without an authority of its own a server is told by its name.
//
// It says nothing of the cluster to who does not know it: it is a digest.
func (c *Client) Identity() string { return c.identity }

// identityOf returns the identity of the cluster whose API server cfg describes, at
// the given address. The authority is always in cfg: no kubeconfig names a file.
func identityOf(cfg *rest.Config, address *url.URL) string {
	var parts []string
	for data := cfg.CAData; ; {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		sum := sha256.Sum256(block.Bytes)
		parts = append(parts, "authority "+hex.EncodeToString(sum[:]))
	}
	if len(parts) == 0 {
		parts = []string{"server " + address.Host}
	}
	slices.Sort(parts)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(parts), "\n") + "\n" + strings.Trim(address.Path, "/")))
	return hex.EncodeToString(sum[:])
}
