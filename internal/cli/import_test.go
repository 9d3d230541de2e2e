package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/cli"
)

// intake is a server that stores rows and counts them. Its fault decides about the request with the given number, from 1; it
// returns whether the request is answered.
type intake struct {
	fault func(n int, w http.ResponseWriter, rows []string) bool

	mu   sync.Mutex
	n    int
	rows []string
}

func (s *intake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	if r.URL.Path == "/api/v1/query" {
		_, _ = fmt.Fprintf(w, "{\"__rows\":%d}\n{\"_meta\":{\"stats\":{},\"warnings\":[]}}\n", len(s.rows))
		return
	}
	s.n++
	rows := strings.SplitAfter(strings.TrimSuffix(string(body), "\n"), "\n")
	if s.fault != nil && s.fault(s.n, w, rows) {
		return
	}
	type rowError struct {
		Index  int    `json:"index"`
		Reason string `json:"reason"`
	}
	refused := []rowError{}
	for i, row := range rows {
		if strings.Contains(row, "bad") {
			refused = append(refused, rowError{i, fmt.Sprintf("line %d: bad row", i+1)})
			continue
		}
		s.rows = append(s.rows, strings.TrimSpace(row))
	}
	if len(refused) == len(rows) {
		w.WriteHeader(http.StatusBadRequest)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"accepted": len(rows) - len(refused), "rejected": len(refused), "errors": refused})
}

// stored returns the rows that the server has.
func (s *intake) stored() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.rows...)
}

func numbered(from, to int) (rows []string) {
	for i := from; i < to; i++ {
		rows = append(rows, fmt.Sprintf(`{"n":%d}`, i))
	}
	return rows
}

func lines(rows []string) string { return strings.Join(rows, "\n") + "\n" }

func input(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestImportResendsWhatIsNotSettled(t *testing.T) {
	t.Parallel()
	s := &intake{}
	s.fault = func(n int, w http.ResponseWriter, rows []string) bool {
		switch n {
		case 2: // a part is stored
			for _, row := range rows[:3] {
				s.rows = append(s.rows, strings.TrimSpace(row))
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"error":"unavailable","message":"disk full","accepted":3,"settled":3}`)
			return true
		case 3, 4:
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		default:
			return false
		}
	}
	path := input(t, "a.jsonl", lines(numbered(0, 25)))
	got := run(t.Context(), "", "import", path, "--addr", serve(t, s.ServeHTTP), "--batch-rows", "10")
	require.Zero(t, got.code, got.err)
	require.Equal(t, numbered(0, 25), s.stored())
	require.Contains(t, got.err, "disk full; again in ")
	require.Contains(t, got.err, "25 rows stored in logs.import")
}

func TestImportAsksWhetherALostBatchIsStored(t *testing.T) {
	t.Parallel()
	for name, stores := range map[string]bool{"stored": true, "not stored": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &intake{}
			s.fault = func(n int, _ http.ResponseWriter, rows []string) bool {
				if n != 2 {
					return false
				}
				if stores {
					for _, row := range rows {
						s.rows = append(s.rows, strings.TrimSpace(row))
					}
				}
				panic(http.ErrAbortHandler)
			}
			path := input(t, "a.jsonl", lines(numbered(0, 25)))
			got := run(t.Context(), "", "import", path, "--addr", serve(t, s.ServeHTTP), "--batch-rows", "10")
			require.Zero(t, got.code, got.err)
			require.Equal(t, numbered(0, 25), s.stored())
		})
	}
}

func TestImportGoesOnAfterFailure(t *testing.T) {
	t.Parallel()
	s := &intake{fault: func(n int, w http.ResponseWriter, _ []string) bool {
		if n == 2 {
			w.WriteHeader(http.StatusForbidden)
		}
		return n == 2
	}}
	addr := serve(t, s.ServeHTTP)
	path := input(t, "a.jsonl", lines(numbered(0, 25)))
	args := []string{"import", path, "--addr", addr, "--batch-rows", "10", "--state", t.TempDir()}
	got := run(t.Context(), "", args...)
	require.Equal(t, 1, got.code)
	require.Contains(t, got.err, "403 Forbidden; the same command goes on from here")
	require.Equal(t, numbered(0, 10), s.stored())

	got = run(t.Context(), "", args...)
	require.Zero(t, got.code, got.err)
	require.Equal(t, numbered(0, 25), s.stored())
	require.Contains(t, got.err, "15 rows stored in logs.import")
	require.Contains(t, got.err, "10 rows before")

	got = run(t.Context(), "", args...)
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.err, "nothing new")

	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(lines(numbered(25, 30)))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.Zero(t, run(t.Context(), "", args...).code)
	require.Equal(t, numbered(0, 30), s.stored())

	require.Equal(t, 2, run(t.Context(), "", append(args, "--stream", "logs.other")...).code)
	require.NoError(t, os.WriteFile(path, []byte(lines(numbered(7, 99))), 0o600))
	got = run(t.Context(), "", args...)
	require.Equal(t, 2, got.code)
	require.Contains(t, got.err, "is not the file whose import began")
	require.Zero(t, run(t.Context(), "", append(args, "--restart")...).code)
	require.Len(t, s.stored(), 30+92)
}

func TestImportListsRefusedRows(t *testing.T) {
	t.Parallel()
	s := &intake{}
	addr := serve(t, s.ServeHTTP)
	text := "\ufeff{\"n\":0}\n\n[1]\r\n{\"bad\":1}\n  {\"n\":1}  \nnull\n" + strings.Repeat("x", 17<<20) + "\n{\"bad\":2}\n{"
	path := input(t, "a.jsonl", text)
	got := run(t.Context(), "", "import", path, "--addr", addr, "--batch-rows", "2")
	require.Equal(t, 1, got.code)
	require.Equal(t, numbered(0, 2), s.stored())
	for _, want := range []string{
		`:3: a row is a JSON object, this is "[1]"`, ":4: bad row", `:6: a row is a JSON object, this is "null"`,
		":7: has 17825793 bytes, at most 16777216 are sent", ":8: bad row", `:9: a row is a JSON object, this is "{"`,
		"millstream: 6 rows refused",
	} {
		require.Contains(t, got.err, want)
	}
	got = run(t.Context(), "", "import", path, "--addr", addr, "--allow-rejected")
	require.Zero(t, got.code, got.err)
}

func TestImportReadsPackedFilesAndPipes(t *testing.T) {
	t.Parallel()
	text := lines(numbered(0, 1000))
	var gz, zst bytes.Buffer
	zw := gzip.NewWriter(&gz)
	_, _ = io.WriteString(zw, text)
	require.NoError(t, zw.Close())
	sw, err := zstd.NewWriter(&zst)
	require.NoError(t, err)
	_, _ = io.WriteString(sw, text)
	require.NoError(t, sw.Close())
	for name, in := range map[string][2]string{"a.gz": {gz.String(), ""}, "a.zst": {zst.String(), ""}, "-": {"", text}} {
		s := &intake{fault: func(n int, w http.ResponseWriter, _ []string) bool {
			if n == 3 && name != "-" {
				w.WriteHeader(http.StatusForbidden)
			}
			return n == 3 && name != "-"
		}}
		addr := serve(t, s.ServeHTTP)
		path := name
		if name != "-" {
			path = input(t, name, in[0])
			require.Equal(t, 1, run(t.Context(), in[1], "import", path, "--addr", addr, "--batch-rows", "100").code, name)
		}
		got := run(t.Context(), in[1], "import", path, "--addr", addr, "--batch-rows", "100")
		require.Zero(t, got.code, "%s: %s", name, got.err)
		require.Equal(t, numbered(0, 1000), s.stored(), name)
	}
}

func TestImportRefusesWhatIsNoLines(t *testing.T) {
	t.Parallel()
	s := &intake{}
	addr := serve(t, s.ServeHTTP)
	for name, text := range map[string]string{"array": `[{"n":1}]`, "pretty": "{\n \"n\": 1\n}\n", "gzip.gz": "{}\n"} {
		got := run(t.Context(), "", "import", input(t, name, text), "--addr", addr)
		require.Equal(t, 1, got.code, name)
		require.Regexp(t, "no file of JSON lines|no gzip file", got.err)
	}
	require.Zero(t, run(t.Context(), "", "import", input(t, "empty", ""), "--addr", addr).code)
	require.Empty(t, s.stored())
}

// TestBatchesHoldEveryLineOnce cuts random inputs.
func TestBatchesHoldEveryLineOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{`{"a":1}`, `{"longer":"row with text"}`, "", " \t", "[1]", "1", "{"})
		kinds := rapid.SliceOfN(kind, 0, 40).Draw(t, "lines")
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
		text := "{}" + end
		want, refused := "{}\n", 0
		for _, k := range kinds {
			text += k + end
			switch {
			case strings.HasPrefix(k, "{") && len(k) > 1:
				want += k + "\n"
			case strings.TrimSpace(k) != "":
				refused++
			}
		}
		if rapid.Bool().Draw(t, "last end missing") {
			text = strings.TrimSuffix(text, end)
		}
		maxRows, maxBytes := rapid.IntRange(1, 5).Draw(t, "rows"), rapid.IntRange(1, 60).Draw(t, "bytes")
		bodies, ends, gotRefused, err := cli.Batches(strings.NewReader(text), maxRows, maxBytes)
		require.NoError(t, err)
		require.Equal(t, want, strings.Join(bodies, ""))
		require.Equal(t, refused, gotRefused)
		require.Equal(t, int64(len(text)), ends[len(ends)-1])
		for i, b := range bodies {
			require.LessOrEqual(t, strings.Count(b, "\n"), maxRows)
			require.True(t, b != "" || i == len(bodies)-1, "an empty batch in the middle")
		}
	})
}
