package agents_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// request is an HTTP request as it stands on the wire: headers in their order and case. Host and Content-Length have a place among
// them by the values HOST and LENGTH.
type request struct {
	line    string // as "GET / HTTP/1.1"
	headers []string
	body    []byte
}

const org = "agents"

// response is an answer, read to its end.
type response struct {
	status int
	header http.Header
	body   []byte
}

// wire is a connection of an agent, made anew when it broke.
type wire struct {
	address string
	conn    net.Conn
	in      *bufio.Reader
}

func (w *wire) close() {
	if w.conn != nil {
		_ = w.conn.Close() // it may be broken
		w.conn = nil
	}
}

// do sends a request and reads the answer. After an error the next request has a connection of its own.
func (w *wire) do(ctx context.Context, r request) (response, error) {
	res, err := w.try(ctx, r)
	if err != nil {
		w.close()
	}
	return res, err
}

func (w *wire) try(ctx context.Context, r request) (response, error) {
	if w.conn == nil {
		conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", w.address)
		if err != nil {
			return response{}, fmt.Errorf("connect: %w", err)
		}
		w.conn, w.in = conn, bufio.NewReader(conn)
	}
	if err := w.conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return response{}, fmt.Errorf("set the deadline: %w", err)
	}
	var head strings.Builder
	head.WriteString(r.line + "\r\n")
	for _, h := range r.headers {
		h = strings.ReplaceAll(h, "HOST", w.address)
		head.WriteString(strings.ReplaceAll(h, "LENGTH", fmt.Sprint(len(r.body))) + "\r\n")
	}
	head.WriteString("\r\n")
	if _, err := w.conn.Write(append([]byte(head.String()), r.body...)); err != nil {
		return response{}, fmt.Errorf("send: %w", err)
	}
	method, _, _ := strings.Cut(r.line, " ")
	res, err := http.ReadResponse(w.in, &http.Request{Method: method})
	if err != nil {
		return response{}, fmt.Errorf("read the answer: %w", err)
	}
	body, err := io.ReadAll(res.Body)
	if err := res.Body.Close(); err != nil {
		return response{}, fmt.Errorf("close the answer: %w", err)
	}
	if err != nil {
		return response{}, fmt.Errorf("read the answer: %w", err)
	}
	if res.Close {
		w.close()
	}
	return response{res.StatusCode, res.Header, body}, nil
}

func TestHeadersKeepOrderAndCase(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	got := make(chan string, 1)
	go func() {
		defer close(got)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close() //nolint:errcheck // test
		buf := make([]byte, 1<<10)
		n, _ := conn.Read(buf)
		_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
		got <- string(buf[:n])
	}()
	w := &wire{address: l.Addr().String()}
	defer w.close()
	res, err := w.do(t.Context(), request{"POST /x HTTP/1.1", []string{"b: HOST", "A: LENGTH"}, []byte("body")})
	require.NoError(t, err)
	require.Equal(t, 204, res.status)
	require.Equal(t, "POST /x HTTP/1.1\r\nb: "+w.address+"\r\nA: 4\r\n\r\nbody", <-got)
	require.NoError(t, l.Close())
	require.True(t, bytes.Equal(nil, res.body))
}
