package secret

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"
)

// token is as long as one, and has no part twice.
func token(n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	random := rand.New(rand.NewPCG(1, uint64(n)))
	var b strings.Builder
	for range n {
		b.WriteByte(letters[random.IntN(len(letters))])
	}
	return b.String()
}

// A server may show a part of a credential, or put it into another form.
func TestHideFindsPieces(t *testing.T) {
	t.Parallel()
	secret := token(1200)
	var s Set
	s.Add("s3cret")
	s.Add(token(600))
	s.Add(secret)
	packed := base64.StdEncoding.EncodeToString
	for name, text := range map[string]string{
		"whole":                      secret,
		"the head":                   secret[:120],
		"the tail":                   secret[1000:],
		"the middle":                 secret[333:400],
		"as short as a piece can be": secret[777 : 777+minPiece],
		"wrapped":                    secret[:64] + "\n" + secret[64:128] + "\n" + secret[128:192],
		"with marks in it":           secret[:30] + "<wbr>" + secret[30:90] + "\x00" + secret[90:200],
		"in Base64":                  packed([]byte(secret)),
		"in Base64, after a name":    packed([]byte("user:" + secret)),
		"in Base64, after another":   packed([]byte("users:" + secret)),
		"in Base64, cut":             packed([]byte(secret))[100:180],
	} {
		hidden := s.Hide("it said [" + text + "] and ended")
		if !strings.HasPrefix(hidden, "it said [") || !strings.HasSuffix(hidden, "] and ended") {
			t.Errorf("%s: what is around it is gone: %s", name, hidden)
		}
		// The ends of Base64 depend on what is beside it, and show a few bytes.
		for i := 0; i+chunk <= len(text); i++ {
			if strings.Contains(hidden, text[i:i+chunk]) && !strings.HasPrefix(name, "in Base64") {
				t.Fatalf("%s: %q is left of it in %s", name, text[i:i+chunk], hidden)
			}
		}
		if left := len(hidden) - len("it said [] and ended"); left > 60 {
			t.Errorf("%s: %d bytes are left: %s", name, left, hidden)
		}
	}
}

func TestHideLeavesTheRest(t *testing.T) {
	t.Parallel()
	secret := token(1200)
	var s Set
	s.Add(secret)
	s.Add(token(minLong - 1))
	for name, text := range map[string]string{
		"nothing":             "",
		"short":               "abc",
		"plain":               strings.Repeat("the Job failed with exit status 3; ", 50),
		"less than a piece":   "x " + secret[100:100+minPiece-1] + " y",
		"a piece of no token": token(minLong - 1)[:minPiece],
		"another token":       token(1300),
	} {
		if hidden := s.Hide(text); hidden != text {
			t.Errorf("%s: %q became %q", name, text, hidden)
		}
	}
}

// Every piece is found, wherever it is cut out and whatever is beside it.
func FuzzPieces(f *testing.F) {
	f.Add(uint16(0), uint16(40), "a", "b")
	f.Add(uint16(7), uint16(20), "eyJ", ".eyJ")
	f.Add(uint16(900), uint16(300), "", "")
	secret := token(1200)
	var s Set
	s.Add(secret)
	s.Add(strings.Repeat("ab", 60))
	f.Fuzz(func(t *testing.T, from, length uint16, before, after string) {
		begin := int(from) % (len(secret) - minPiece)
		end := min(begin+minPiece+int(length), len(secret))
		piece := secret[begin:end]
		hidden := s.Hide(before + piece + after)
		for i := 0; i+minPiece <= len(piece); i++ {
			if strings.Contains(hidden, piece[i:i+minPiece]) && !strings.Contains(before+"|"+after, piece[i:i+minPiece]) {
				t.Fatalf("%q is in %q", piece[i:i+minPiece], hidden)
			}
		}
	})
}

// Hiding stands in the way of every line of a workload's log.
func BenchmarkHide(b *testing.B) {
	var s Set
	for n := range 20 {
		s.Add(token(1500 + n))
	}
	line := strings.Repeat("2026-11-30T10:11:12Z INFO  processed item 4711 of 9000 in 12ms; ", 16)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		s.Hide(line)
	}
}
