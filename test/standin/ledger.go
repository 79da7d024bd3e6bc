package standin

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Ledger knows every secret that the stand-ins ever issued or accepted, and finds
// them in text. It never shows one.
type Ledger struct {
	mu sync.Mutex
	// Pieces of secrets, every so many bytes one, and secrets that are shorter than
	// a piece, with what they are of.
	short, long, whole map[string]string
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	return &Ledger{short: map[string]string{}, long: map[string]string{}, whole: map[string]string{}}
}

// A fragment of a secret is found when it is shortLength+stride-1 = 24 bytes
// long, in the claims of a token longLength+stride-1 = 32 bytes.
const (
	shortLength = 16
	longLength  = 24
	stride      = 9
)

// AddToken keeps a JWT. Its claims are looked for too, as they stand in the
// token; its header is not, since others have the same.
func (l *Ledger) AddToken(kind, token string) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		l.AddText(kind, token)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(l.long, longLength, kind, parts[1])
	l.add(l.short, shortLength, kind, parts[2])
}

// AddText keeps a secret text without a form. One of less than 8 bytes cannot be
// told from other text, and is an error of the caller's.
func (l *Ledger) AddText(kind, text string) {
	if len(text) < 8 {
		panic(fmt.Sprintf("%s is too short to be looked for", kind))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(l.short, shortLength, kind, text)
}

// AddKey keeps a private key in PEM. Only what is private in it is looked for:
// the public part stands in the certificate too.
func (l *Ledger) AddKey(kind string, keyPEM []byte) error {
	block, _ := pem.Decode(keyPEM)
	if block == nil {
		return fmt.Errorf("%s: no PEM block", kind)
	}
	secrets, err := privateNumbers(block)
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	body := base64.StdEncoding.EncodeToString(block.Bytes)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, secret := range secrets {
		at := bytes.Index(block.Bytes, secret)
		if at < 0 {
			return fmt.Errorf("%s: the key does not hold its own number", kind)
		}
		// The characters that nothing but the number decides.
		l.add(l.short, shortLength, kind, body[(at*4+2)/3:(at+len(secret))*4/3])
	}
	return nil
}

func privateNumbers(block *pem.Block) ([][]byte, error) {
	var key any
	var err error
	switch block.Type {
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	if err != nil {
		return nil, err
	}
	switch key := key.(type) {
	case *ecdsa.PrivateKey:
		number, err := key.Bytes()
		return [][]byte{number}, err
	case *rsa.PrivateKey:
		return [][]byte{key.D.Bytes(), key.Primes[0].Bytes(), key.Primes[1].Bytes()}, nil
	}
	return nil, fmt.Errorf("%T is not supported", key)
}

// add keeps pieces of a text, as they are after plain. The last one ends where
// the text does.
func (l *Ledger) add(index map[string]string, length int, kind, text string) {
	text = plain(text)
	if len(text) < length {
		// Too short for pieces: Scan looks for it as a whole.
		l.whole[text] = kind
		return
	}
	for at := 0; at+length <= len(text); at += stride {
		index[text[at:at+length]] = kind
	}
	index[text[len(text)-length:]] = kind
}

// Scan returns what secrets data holds, as sentences that begin with the name of
// the data; none when it holds none. It finds them as they are, as parts of 24
// bytes or more, wrapped over lines, escaped for JSON or for a URL, and in base64
// of either alphabet, also twice.
func (l *Ledger) Scan(name string, data []byte) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := map[string]bool{}
	for _, text := range views(string(data), 2) {
		for i := 0; i+shortLength <= len(text); i++ {
			if kind, ok := l.short[text[i:i+shortLength]]; ok {
				found[kind] = true
			}
			if i+longLength <= len(text) {
				if kind, ok := l.long[text[i:i+longLength]]; ok {
					found[kind] = true
				}
			}
		}
		for secret, kind := range l.whole {
			if strings.Contains(text, secret) {
				found[kind] = true
			}
		}
	}
	var said []string
	for _, kind := range slices.Sorted(maps.Keys(found)) {
		said = append(said, name+" holds "+kind)
	}
	return said
}

// Kinds returns what kinds of secrets it knows.
func (l *Ledger) Kinds() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	kinds := map[string]bool{}
	for _, index := range []map[string]string{l.short, l.long, l.whole} {
		for _, kind := range index {
			kinds[kind] = true
		}
	}
	return slices.Sorted(maps.Keys(kinds))
}
