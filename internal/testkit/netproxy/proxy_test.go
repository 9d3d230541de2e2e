package netproxy_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/testkit/netproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo returns the address of a server that sends back what it gets, and a channel of what it got.
func echo(t *testing.T) (addr string, got <-chan string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	seen := make(chan string, 100)
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wait.Go(func() {
				buf := make([]byte, 100)
				for n, err := c.Read(buf); err == nil; n, err = c.Read(buf) {
					seen <- string(buf[:n])
					_, _ = c.Write(buf[:n])
				}
				_ = c.Close()
			})
		}
	})
	t.Cleanup(func() { require.NoError(t, l.Close()); wait.Wait() })
	return l.Addr().String(), seen
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func ask(t *testing.T, c net.Conn, text string) (string, error) {
	t.Helper()
	_, err := c.Write([]byte(text))
	require.NoError(t, err)
	buf := make([]byte, 100)
	n, err := c.Read(buf)
	return string(buf[:n]), err
}

func TestModes(t *testing.T) {
	t.Parallel()
	addr, got := echo(t)
	p := netproxy.Start(t, addr)
	c := dial(t, p.Addr())
	back, err := ask(t, c, "one")
	require.NoError(t, err)
	require.Equal(t, "one", back)
	require.Equal(t, "one", <-got)

	p.Set(netproxy.Stall)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
	_, err = ask(t, c, "two")
	require.ErrorContains(t, err, "timeout")
	require.Empty(t, got)
	p.Set(netproxy.Pass)
	require.Equal(t, "two", <-got)

	require.NoError(t, c.SetReadDeadline(time.Time{}))
	p.Set(netproxy.Refuse)
	_, err = io.ReadAll(c)
	require.NoError(t, err, "it is cut, after what was on its way")
}

func TestHoldBeforeServer(t *testing.T) {
	t.Parallel()
	addr, got := echo(t)
	p := netproxy.Start(t, addr)
	hit := p.HoldAt(netproxy.BeforeServer, "insert", "commit")
	c := dial(t, p.Addr())
	other := dial(t, p.Addr())
	for _, text := range []string{"begin", "commit", "insert"} {
		_, err := ask(t, c, text)
		require.NoError(t, err)
		require.Equal(t, text, <-got)
	}
	_, err := ask(t, other, "commit")
	require.NoError(t, err, "this one has not sent the first mark")
	require.Equal(t, "commit", <-got)
	_, err = c.Write([]byte("commit"))
	require.NoError(t, err)
	<-hit
	require.NoError(t, c.Close())
	require.Equal(t, "again", func() string { s, _ := ask(t, dial(t, p.Addr()), "again"); return s }(), "one connection is held")
	require.Equal(t, "again", <-got, "the server never got the held one")
}

func TestHoldAfterServer(t *testing.T) {
	t.Parallel()
	addr, got := echo(t)
	p := netproxy.Start(t, addr)
	hit := p.HoldAt(netproxy.AfterServer, "commit")
	c := dial(t, p.Addr())
	_, err := c.Write([]byte("commit"))
	require.NoError(t, err)
	<-hit
	require.Equal(t, "commit", <-got)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
	_, err = c.Read(make([]byte, 1))
	require.ErrorContains(t, err, "timeout", "the answer does not come back")
}
