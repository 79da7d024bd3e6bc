package control

import (
	"fmt"
	"net"
	"syscall"
)

// reservePort takes a free loopback port and keeps it for the life of the
// process: a socket that is bound but does not listen. The API server shares it
// (--permit-port-sharing), so that nobody else gets the port while the API
// server is stopped, and connections are refused then.
func reservePort() (int, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return 0, err
	}
	syscall.CloseOnExec(fd)
	for _, option := range []int{syscall.SO_REUSEADDR, soReusePort} {
		if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, option, 1); err != nil {
			return 0, fmt.Errorf("could not reserve a port: %w", err)
		}
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, fmt.Errorf("could not reserve a port: %w", err)
	}
	address, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	return address.(*syscall.SockaddrInet4).Port, nil
}

// freePort names a port that was free a moment ago, for programs that cannot
// share one. Who uses it must be ready to be too late.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// portTaken is what a program says that was too late: it gets another try.
const portTaken = "address already in use"
