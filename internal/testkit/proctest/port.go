package proctest

import (
	"fmt"
	"net"
	"strconv"
	"sync"
)

// claims are the ports that this process has given out, each with the socket that keeps other test processes from giving out the same
// one: a server binds its port only later, and not while it is stopped.
//
//nolint:gochecknoglobals // belongs to the process, as its ports do
var claims struct {
	sync.Mutex
	held []net.PacketConn
}

// FreePort returns a TCP port of 127.0.0.1 on which nothing listens, and which no test process gives out again while this one lives. It
// lies below the range that the kernel gives to outgoing connections, so that a server which stops and starts again on its port finds
// it free.
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

// claim takes the UDP port of the same number, which none of our servers uses, until the process ends.
func claim(port int) bool {
	c, err := net.ListenPacket("udp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	claims.Lock()
	defer claims.Unlock()
	claims.held = append(claims.held, c)
	return true
}
