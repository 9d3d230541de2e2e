package cli_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/cli"
)

//go:generate go test -run ^TestReferenceIsCurrent$ -update .

var update = flag.Bool("update", false, "write docs/cli.md")

func TestReferenceIsCurrent(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "cli.md")
	var want bytes.Buffer
	require.NoError(t, cli.WriteReference(&want))
	if *update {
		require.NoError(t, os.WriteFile(path, want.Bytes(), 0o644))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want.String(), string(got), "run make generate")
}

// result is what a command did.
type result struct {
	out, err string // standard output and error, the final error behind it
	code     int
}

// run runs the program with arguments.
func run(ctx context.Context, in string, args ...string) result {
	var out, errOut bytes.Buffer
	root := cli.New(cli.Streams{In: strings.NewReader(in), Out: &out, Err: &errOut})
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(&errOut, "millstream:", err)
	}
	return result{out.String(), errOut.String(), cli.ExitCode(err)}
}

// serve starts a server with one handler.
func serve(t *testing.T, h http.HandlerFunc) (addr string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// cut writes the beginning of an answer and closes the connection.
func cut(w http.ResponseWriter, text string) {
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"unknown command":  {"foo"},
		"unknown flag":     {"query", "--bogus", "SELECT 1"},
		"format":           {"query", "-o", "xml", "SELECT 1"},
		"address":          {"query", "--addr", "ftp://x", "SELECT 1"},
		"no statement":     {"query"},
		"stream":           {"tail", "logs.a/b"},
		"no file":          {"import"},
		"rows of the demo": {"demo", "--rows", "0"},
	} {
		got := run(t.Context(), "", args...)
		require.Equal(t, 2, got.code, "%s: %s", name, got.err)
	}
}

func TestAnswerThatIsCutIsIncomplete(t *testing.T) {
	t.Parallel()
	for format, begin := range map[string]string{
		"table":  `{"columns":[{"name":"n","type":"BIGINT"}],"rows":[` + "\n[1],\n[2]",
		"json":   `{"columns":[{"name":"n","type":"BIGINT"}],"rows":[` + "\n[1],\n[2]",
		"ndjson": "{\"n\":1}\n{\"n\":2}\n",
		"csv":    "n\r\n1\r\n2\r\n",
	} {
		addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Millstream-Meta")
			cut(w, begin)
		})
		got := run(t.Context(), "", "query", "--addr", addr, "-o", format, "FROM x")
		require.Equal(t, 1, got.code, format)
		require.Contains(t, got.err, "incomplete", format)
		require.Contains(t, got.out, "2", format)
	}
}

func TestAnswerThatEndsWithoutItsEnd(t *testing.T) {
	t.Parallel()
	for format, text := range map[string]string{
		"table":  `{"columns":[{"name":"n","type":"BIGINT"}],"rows":[` + "\n[1]\n]",
		"json":   `{"columns":[],"rows":[` + "\n[1]",
		"ndjson": "{\"n\":1}\n",
		"csv":    "n\r\n1\r\n",
	} {
		addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Millstream-Meta")
			_, _ = io.WriteString(w, text)
		})
		got := run(t.Context(), "", "query", "--addr", addr, "-o", format, "FROM x")
		require.Equal(t, 1, got.code, "%s: %s", format, got.err)
		require.Contains(t, got.err, "incomplete", format)
	}
}

func TestErrorAfterRowsAndWarnings(t *testing.T) {
	t.Parallel()
	addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"_meta":"a row that looks like the end"}`+"\n"+
			`{"_meta":{"stats":{"rows":1},"warnings":["slow"],"error":{"error":"deadline","message":"too late"}}}`+"\n")
	})
	got := run(t.Context(), "", "query", "--addr", addr, "-o", "ndjson", "FROM x")
	require.Equal(t, result{
		`{"_meta":"a row that looks like the end"}` + "\n",
		"warning: slow\nmillstream: the answer is incomplete: it ended after 1 row: too late\n", 1,
	}, got)
}

func TestTable(t *testing.T) {
	t.Parallel()
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Scope-OrgID") != "acme" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = io.WriteString(w, `{"columns":[{"name":"name","type":"VARCHAR"},{"name":"n","type":"UBIGINT"},`+
			`{"name":"tags","type":"VARCHAR[]"}],"rows":[`+"\n"+`["日本 👩‍👩‍👧",1,["a"]],`+"\n"+
			`["é\u001b[31m\n",18446744073709551615,null],`+"\n"+`[null,-2,[]]`+"\n],"+
			`"stats":{"rows":3},"warnings":[]}`+"\n")
	})
	got := run(t.Context(), "", "query", "--addr", addr, "--org", "acme", "FROM x")
	require.Equal(t, ` name        |                    n | tags
-------------+----------------------+-------
 日本 👩‍👩‍👧     |                    1 | ["a"]
 é\x1b[31m\n | 18446744073709551615 | NULL
 NULL        |                   -2 | []
`, got.out)
	require.Contains(t, got.err, "(3 rows in ")
	require.Zero(t, got.code)

	got = run(t.Context(), "", "query", "--addr", addr, "--org", "acme", "-x", "FROM x")
	require.True(t, strings.HasPrefix(got.out, "-[ row 1 ]----\nname | 日本 👩‍👩‍👧\nn    | 1\ntags | [\"a\"]\n-[ row 2 ]----\n"), got.out)
}

func TestErrorShowsThePlace(t *testing.T) {
	t.Parallel()
	addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid","message":"line 2, column 11: unknown column x"}`)
	})
	got := run(t.Context(), "SELECT 1,\n\t'日本', é, x\nFROM y", "query", "--addr", addr)
	require.Equal(t, result{
		"", "millstream: line 2, column 11: unknown column x\n   2 |  '日本', é, x\n" +
			strings.Repeat(" ", 7+12) + "^\n", 1,
	}, got)
}

func TestCancelClosesTheConnection(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan struct{})
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "{\"n\":1}\n")
		_ = http.NewResponseController(w).Flush()
		cancel()
		<-r.Context().Done()
		close(gone)
	})
	got := run(ctx, "", "query", "--addr", addr, "-o", "ndjson", "FROM x")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.err, "canceled")
	<-gone
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	addr := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	got := run(t.Context(), "", "query", "--addr", addr, "--timeout", "20ms", "FROM x")
	require.Equal(t, result{"", "millstream: no answer within 20ms (--timeout)\n", 1}, got)
}

func TestRetry(t *testing.T) {
	t.Parallel()
	var waits []time.Duration
	wait := func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }
	n := 0
	err := cli.RetryWith(t.Context(), time.Hour, wait, func() error {
		if n++; n <= 20 {
			return cli.Refusal(http.StatusServiceUnavailable, 2*time.Second)
		}
		return nil
	})
	require.NoError(t, err)
	require.Len(t, waits, 20)
	for i, w := range waits {
		require.GreaterOrEqual(t, w, 2*time.Second, "as the server asks")
		require.Less(t, w, 2*time.Second+min(200*time.Millisecond<<i, 15*time.Second))
	}

	err = cli.RetryWith(t.Context(), time.Minute, wait, func() error { return cli.Refusal(http.StatusTooManyRequests, 7*time.Second) })
	require.ErrorContains(t, err, "given up after")

	waits = nil
	require.Error(t, cli.RetryWith(t.Context(), time.Minute, wait, func() error { return cli.Refusal(http.StatusBadRequest, 0) }))
	require.Empty(t, waits, "what is wrong stays wrong")
}

func TestDemoIsDeterministic(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first := cli.ShopLogs(1, at, 300)
	require.Equal(t, first, cli.ShopLogs(1, at, 300))
	require.NotEqual(t, first, cli.ShopLogs(2, at, 300))
}

func FuzzPrintable(f *testing.F) {
	f.Add("plain")
	f.Add("\x1b]0;title\a\r\n\u202e日本\x80")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range cli.Printable(text) {
			if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) || r == '\u202e' {
				t.Fatalf("%q lets %q through", text, r)
			}
		}
	})
}
