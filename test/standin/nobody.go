package standin

import (
	"errors"
	"net"
)

// Nobody is an address of the loopback at which nobody listens, nor begins to as long
// as it is held: a port that is merely free is soon another test's.
type Nobody struct {
	// Address is host and port.
	Address string

	listener net.Listener
	conn     net.Conn
}

// NewNobody takes an address.
func NewNobody() (*Nobody, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	// The client's end of a connection has a port too, which is in use, and takes no
	// connections.
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}).Dial("tcp", listener.Addr().String())
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return &Nobody{Address: conn.LocalAddr().String(), listener: listener, conn: conn}, nil
}

// Close gives the address back.
func (n *Nobody) Close() error { return closeAll(n.conn, n.listener) }
