package standin

import (
	"bytes"
	"context"
	"net"
	"slices"
	"strings"
)

// Names plays name servers that know nobody: some names do not exist (NXDOMAIN), and
// about all others they cannot tell (SERVFAIL).
type Names struct {
	missing [][]byte // as they stand in a question
	conn    net.PacketConn
	ended   chan struct{}
}

// NewNames starts a name server on the loopback. The missing names do not exist, nor
// do those that end in .missing.
func NewNames(missing ...string) (*Names, error) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	n := &Names{conn: conn, ended: make(chan struct{})}
	for _, name := range append([]string{"missing"}, missing...) {
		var question []byte
		for label := range strings.SplitSeq(name, ".") {
			question = append(append(question, byte(len(label))), label...)
		}
		n.missing = append(n.missing, append(question, 0))
	}
	go n.serve()
	return n, nil
}

// Resolver returns one that asks this name server and no other.
func (n *Names) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", n.conn.LocalAddr().String())
	}}
}

// Close ends the name server, and returns when it is gone.
func (n *Names) Close() error {
	err := n.conn.Close()
	<-n.ended
	return err
}

func (n *Names) serve() {
	defer close(n.ended)
	message := make([]byte, 1500)
	for {
		size, from, err := n.conn.ReadFrom(message)
		if err != nil {
			return
		}
		if size < 12 {
			continue // It is no question.
		}
		// The question, made an answer (RFC 1035, section 4.1.1).
		message[2] |= 0x80
		message[3] = 0x82
		if slices.ContainsFunc(n.missing, func(name []byte) bool { return bytes.Contains(message[:size], name) }) {
			message[3] = 0x83
		}
		_, _ = n.conn.WriteTo(message[:size], from) // The client asks again.
	}
}
