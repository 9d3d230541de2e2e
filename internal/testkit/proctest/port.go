package proctest

import (
	"fmt"
	"net"
	"syscall"
)

// FreePort returns a TCP port of 127.0.0.1 on which nothing listens, and which no test process gives out again while this one lives: a
// server binds its port only later, and not while it is stopped. It lies below the range that the kernel gives to outgoing connections.
func FreePort() (int, error) {
	const lowest, highest, tries = 15000, 32000, 200
	for range tries {
		port, err := randomPort(lowest, highest)
		if err != nil {
			return 0, err
		}
		l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		if err != nil {
			continue // taken
		}
		if err := l.Close(); err != nil {
			return 0, fmt.Errorf("release port %d: %w", port, err)
		}
		if claim(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("find a free port between %d and %d: none in %d tries", lowest, highest, tries)
}

// claim takes the UDP port of the same number, which none of our servers uses. Its descriptor is left open on purpose: the kernel closes
// it when the process ends.
func claim(port int) bool {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		return false
	}
	syscall.CloseOnExec(fd)
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		_ = syscall.Close(fd) // it was never bound
		return false
	}
	return true
}
