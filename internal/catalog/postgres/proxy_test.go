package postgres_test

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// cut says where a proxy cuts a connection that asks the server to commit.
type cut int

const (
	never     cut = iota
	onTheWay      // the server never gets the COMMIT
	onTheBack     // the server has committed, its answer is lost
)

// proxy passes connections on to a server and cuts the first that sends COMMIT after cutNext was called.
type proxy struct {
	server   string
	listener net.Listener
	wait     sync.WaitGroup
	mu       struct {
		sync.Mutex
		next cut
		cuts int // made
		open map[net.Conn]struct{}
	}
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{server: server, listener: listener}
	p.mu.open = make(map[net.Conn]struct{})
	p.wait.Go(p.accept)
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		p.mu.Lock()
		for c := range p.mu.open {
			_ = c.Close() // both ends are being torn down
		}
		p.mu.Unlock()
		p.wait.Wait()
	})
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) cutNext(where cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.next = where
}

func (p *proxy) cuts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.cuts
}

// take returns where to cut a connection that commits now, once.
func (p *proxy) take() cut {
	p.mu.Lock()
	defer p.mu.Unlock()
	where := p.mu.next
	p.mu.next = never
	if where != never {
		p.mu.cuts++
	}
	return where
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wait.Go(func() { p.serve(client) })
	}
}

func (p *proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		_ = client.Close() // the client sees what a closed port would show
		return
	}
	p.mu.Lock()
	p.mu.open[client], p.mu.open[server] = struct{}{}, struct{}{}
	p.mu.Unlock()
	var lost sync.Once
	closeBoth := func() {
		_ = client.Close()
		_ = server.Close()
	}
	answers := make(chan bool, 1) // true: swallow the next answer and cut
	p.wait.Go(func() {
		defer lost.Do(closeBoth)
		pass(client, server, func([]byte) bool {
			select {
			case swallow := <-answers:
				return !swallow
			default:
				return true
			}
		})
	})
	defer lost.Do(closeBoth)
	pass(server, client, func(sent []byte) bool {
		if !bytes.Contains(sent, []byte("commit\x00")) {
			return true
		}
		switch p.take() {
		case onTheWay:
			return false
		case onTheBack:
			answers <- true
		case never:
		}
		return true
	})
}

// pass copies until an end closes or look returns false for what was read.
func pass(to io.Writer, from io.Reader, look func(read []byte) bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && (!look(buf[:n]) || !all(to, buf[:n])) {
			return
		}
		if err != nil {
			return
		}
	}
}

func all(to io.Writer, data []byte) bool {
	_, err := to.Write(data)
	return err == nil
}
