package standin

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
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
	pieces, whole map[string]string
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger { return &Ledger{pieces: map[string]string{}, whole: map[string]string{}} }

// A fragment of a secret is found when it is pieceLength+stride-1 = 24 bytes long.
const (
	pieceLength = 16
	stride      = 9
)

// shortest is how many bytes a secret has to have to be told from other text.
const shortest = 8

// AddToken keeps a JWT: its signature, its id (jti) as it stands in the token, and
// the place where its claims begin. The rest of the claims is no secret, and may
// stand elsewhere in the same form.
func (l *Ledger) AddToken(kind, token string) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		l.AddText(kind, token)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(kind, parts[2])
	if len(parts[1]) >= pieceLength {
		l.add(kind, "."+parts[1][:pieceLength-1])
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return
	}
	var named struct {
		ID string `json:"jti"`
	}
	if json.Unmarshal(claims, &named) == nil && len(named.ID) >= pieceLength {
		l.add(kind, encodedPart(claims, []byte(named.ID), base64.RawURLEncoding))
	}
}

// encodedPart returns the characters of the base64 of data that nothing but part
// of it decides; empty when it does not hold the part.
func encodedPart(data, part []byte, encoding *base64.Encoding) string {
	at := bytes.Index(data, part)
	if at < 0 {
		return ""
	}
	return encoding.EncodeToString(data)[(at*4+2)/3 : (at+len(part))*4/3]
}

// AddText keeps a secret text without a form. One of less than 8 bytes cannot be
// told from other text, and is an error of the caller's.
func (l *Ledger) AddText(kind, text string) {
	if len(text) < shortest {
		panic(fmt.Sprintf("%s is too short to be looked for", kind))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(kind, text)
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
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, secret := range secrets {
		part := encodedPart(block.Bytes, secret, base64.StdEncoding)
		if part == "" {
			return fmt.Errorf("%s: the key does not hold its own number", kind)
		}
		l.add(kind, part)
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
func (l *Ledger) add(kind, text string) {
	text = plain(text)
	if len(text) < pieceLength {
		l.whole[text] = kind
		return
	}
	for at := 0; at+pieceLength <= len(text); at += stride {
		l.pieces[text[at:at+pieceLength]] = kind
	}
	l.pieces[text[len(text)-pieceLength:]] = kind
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
		for i := 0; i+pieceLength <= len(text); i++ {
			if kind, ok := l.pieces[text[i:i+pieceLength]]; ok {
				found[kind] = true
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
	for _, index := range []map[string]string{l.pieces, l.whole} {
		for _, kind := range index {
			kinds[kind] = true
		}
	}
	return slices.Sorted(maps.Keys(kinds))
}
