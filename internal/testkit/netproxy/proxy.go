package netproxy

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Mode is what a proxy does with connections.
type Mode int

// The modes.
const (
	Pass   Mode = iota // bytes go through
	Refuse             // open connections are cut, new ones end at once
	Stall              // connections are taken, and no byte goes through until the mode changes
)

// Side is where HoldAt stops a connection.
type Side int

// The sides.
const (
	BeforeServer Side = iota // the marked message does not reach the server
	AfterServer              // the server gets it; what it answers does not come back
)

// Proxy stands before one server. Its methods may be called from several goroutines.
type Proxy struct {
	server   string
	listener net.Listener
	wait     sync.WaitGroup
	mu       struct {
		sync.Mutex
		mode    Mode
		changed chan struct{} // closed and replaced when mode changes
		open    map[net.Conn]struct{}
		closed  bool
		hold    *hold // armed
	}
}

// hold is an armed HoldAt.
type hold struct {
	marks []string
	side  Side
	seen  map[net.Conn]int // how many of the marks a client has sent
	hit   chan struct{}
}

// Start returns a proxy of the server at host:port.
func Start(t testing.TB, server string) *Proxy {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &Proxy{server: server, listener: listener}
	p.mu.open = make(map[net.Conn]struct{})
	p.mu.changed = make(chan struct{})
	p.wait.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Addr returns host:port of the proxy.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Set changes the mode. Refuse cuts the open connections.
func (p *Proxy) Set(m Mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.mode = m
	close(p.mu.changed)
	p.mu.changed = make(chan struct{})
	if m == Refuse {
		p.cutLocked()
	}
}

// HoldAt stops, once, the first connection whose client sends the marks from now on in that order, each within one read, at the
// last of them. The channel is closed when that has happened. The connection passes nothing more and is cut by Set(Refuse) or when
// an end closes it.
func (p *Proxy) HoldAt(side Side, marks ...string) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.hold = &hold{marks: marks, side: side, seen: make(map[net.Conn]int), hit: make(chan struct{})}
	return p.mu.hold.hit
}

func (p *Proxy) close() {
	p.mu.Lock()
	p.mu.closed = true
	close(p.mu.changed)
	p.mu.changed = make(chan struct{})
	p.cutLocked()
	p.mu.Unlock()
	_ = p.listener.Close() // nothing is to be saved of it
	p.wait.Wait()
}

func (p *Proxy) cutLocked() {
	for c := range p.mu.open {
		_ = c.Close() // a connection that is being cut has nothing to tell
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wait.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close() //nolint:errcheck // closed by the other direction too
	if !p.admit(client) {
		return
	}
	defer p.forget(client)
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", p.server)
	if err != nil {
		return // the client sees a closed connection, as of a server that is down
	}
	defer server.Close() //nolint:errcheck // closed by the other direction too
	if !p.admit(server) {
		return
	}
	defer p.forget(server)
	held := make(chan struct{}) // closed when no answer may go back any more
	var back sync.WaitGroup
	back.Go(func() {
		defer client.Close() //nolint:errcheck // both ends go together
		defer server.Close() //nolint:errcheck // both ends go together
		p.copy(client, server, func([]byte) bool { return !isClosed(held) })
	})
	p.copy(server, client, func(sent []byte) bool {
		switch side, hit := p.take(client, sent); {
		case !hit:
			return true
		case side == AfterServer:
			close(held)
			return true
		default:
			return false
		}
	})
	_ = server.Close() // ends the way back
	_ = client.Close()
	back.Wait()
}

// admit counts a connection as open, unless the proxy refuses or ends.
func (p *Proxy) admit(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.closed || p.mu.mode == Refuse {
		return false
	}
	p.mu.open[c] = struct{}{}
	return true
}

func (p *Proxy) forget(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.mu.open, c)
}

// take reports whether what a client sent meets the last mark of the armed hold, and disarms it.
func (p *Proxy) take(client net.Conn, sent []byte) (side Side, hit bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.mu.hold
	if h == nil || !bytes.Contains(sent, []byte(h.marks[h.seen[client]])) {
		return 0, false
	}
	h.seen[client]++
	if h.seen[client] < len(h.marks) {
		return 0, false
	}
	p.mu.hold = nil
	close(h.hit)
	return h.side, true
}

// copy passes bytes until an end closes. What look refuses, and all after it, is read and thrown away: the connection looks alive.
func (p *Proxy) copy(to, from net.Conn, look func([]byte) bool) {
	buf := make([]byte, 64<<10)
	dropping := false
	for {
		n, err := from.Read(buf)
		if n > 0 && !dropping {
			if !p.awaitPass() {
				return
			}
			if dropping = !look(buf[:n]); !dropping {
				if _, err := to.Write(buf[:n]); err != nil {
					return
				}
			}
		}
		if err != nil {
			return
		}
	}
}

// awaitPass returns once bytes may go through; false when the connection is to end.
func (p *Proxy) awaitPass() bool {
	for {
		p.mu.Lock()
		mode, changed, closed := p.mu.mode, p.mu.changed, p.mu.closed
		p.mu.Unlock()
		switch {
		case closed || mode == Refuse:
			return false
		case mode == Pass:
			return true
		}
		<-changed
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
