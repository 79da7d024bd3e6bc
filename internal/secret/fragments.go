package secret

import "encoding/base64"

const (
	// minLong is the length in bytes of a secret that pieces of are hidden too. A
	// server may show one cut off, wrapped or packed; pieces of a shorter one
	// could stand in any text.
	minLong = 40
	// minPiece is the length in bytes of the shortest piece that is hidden.
	minPiece = 20
	// chunk is how much of a secret is looked up at once. Whatever piece of a
	// secret is cut out, it has a whole chunk in it.
	chunk = minPiece / 2
)

// fragments finds pieces of long secrets in text, in time that does not depend on
// how many there are.
type fragments struct {
	// at has the places of each chunk, and first marks the hashes of those.
	at    map[string][]place
	first [1 << 16 / 64]uint64
}

// place is where a chunk stands in a secret.
type place struct {
	secret string
	offset int
}

// add has pieces of the secret found, also in Base64, whatever stands before it
// there: a user name does in a header (RFC 7617).
func (f *fragments) add(secret string) {
	if len(secret) < minLong {
		return
	}
	f.index(secret)
	for shift := range 3 {
		packed := base64.StdEncoding.EncodeToString([]byte("xx"[:shift] + secret))
		// The ends depend on what stands beside it.
		f.index(packed[4 : len(packed)-4])
	}
}

func (f *fragments) index(secret string) {
	if f.at == nil {
		f.at = map[string][]place{}
	}
	for i := 0; i+chunk <= len(secret); i += chunk {
		key := secret[i : i+chunk]
		f.at[key] = append(f.at[key], place{secret, i})
		hash := hashOf(key)
		f.first[hash/64] |= 1 << (hash % 64)
	}
}

// find calls found with each piece.
func (f *fragments) find(text string, found func(from, to int)) {
	for i := 0; i+chunk <= len(text); i++ {
		if hash := hashOf(text[i:]); f.first[hash/64]&(1<<(hash%64)) == 0 {
			continue
		}
		next := i
		for _, p := range f.at[text[i:i+chunk]] {
			from, to := p.extend(text, i)
			if to-from >= minPiece {
				found(from, to)
				next = max(next, to-minPiece)
			}
		}
		i = next
	}
}

// extend returns what of the text around a chunk is the secret's too.
func (p place) extend(text string, at int) (from, to int) {
	from, to = at, at+chunk
	for before := p.offset; from > 0 && before > 0 && text[from-1] == p.secret[before-1]; before-- {
		from--
	}
	for after := p.offset + chunk; to < len(text) && after < len(p.secret) && text[to] == p.secret[after]; after++ {
		to++
	}
	return from, to
}

// hashOf is of the first four bytes, which text has.
func hashOf(text string) uint16 {
	const prime = 2654435761 // Knuth, The Art of Computer Programming 3, 6.4
	word := uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16 | uint32(text[3])<<24
	return uint16(word * prime >> 16)
}
