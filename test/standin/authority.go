package standin

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"time"
)

// Authority is a certificate authority that lives as long as the process.
type Authority struct {
	// PEM is its certificate.
	PEM []byte

	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes an authority.
func NewAuthority(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificate(pkix.Name{CommonName: name})
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Authority{PEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), cert: cert, key: key}, nil
}

// Pool returns the authority alone, for a client that trusts nobody else.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Transport returns a transport that trusts this authority alone, speaks HTTP/2
// where it can, and uses no proxy.
func (a *Authority) Transport() *http.Transport {
	return &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: a.Pool(), MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true,
	}
}

// Server returns a certificate for a server on the loopback: 127.0.0.1 and
// localhost, and the other names.
func (a *Authority) Server(names ...string) (tls.Certificate, error) {
	template := serverCertificate()
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	template.DNSNames = append([]string{"localhost"}, names...)
	return a.server(template)
}

// ServerNamed returns a certificate for other names than a server here has, so
// that it does not fit.
func (a *Authority) ServerNamed(names ...string) (tls.Certificate, error) {
	template := serverCertificate()
	template.DNSNames = names
	return a.server(template)
}

// ServerExpired returns a certificate as that of Server which ended an hour ago.
func (a *Authority) ServerExpired() (tls.Certificate, error) {
	template := serverCertificate()
	template.IPAddresses, template.DNSNames = []net.IP{net.IPv4(127, 0, 0, 1)}, []string{"localhost"}
	template.NotBefore, template.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	return a.server(template)
}

func (a *Authority) server(template *x509.Certificate) (tls.Certificate, error) {
	certificate, key, err := a.issue(template)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(certificate, key)
}

// Client returns a certificate and its key, in PEM, for a user of Kubernetes.
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#x509-client-certificates
func (a *Authority) Client(user string, groups ...string) (certificatePEM, keyPEM []byte, err error) {
	template := certificate(pkix.Name{CommonName: user, Organization: groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

func (a *Authority) issue(template *x509.Certificate) (certificatePEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}), nil
}

func serverCertificate() *x509.Certificate {
	template := certificate(pkix.Name{CommonName: "server"})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	return template
}

func certificate(name pkix.Name) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes([]byte(rand.Text())), Subject: name,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
}
