package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/cli"
)

// streamServer answers tail's statements from a list of rows. Its clock stands still but for add.
type streamServer struct {
	looks chan int // number of each look that was answered

	mu     sync.Mutex
	now    time.Time
	rows   []map[string]any
	broken int // so many answers are cut
	n      int
}

func (s *streamServer) add(age time.Duration, rows ...map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range rows {
		r["_timestamp"] = s.now.Add(-age).Format(time.RFC3339Nano)
		s.rows = append(s.rows, r)
	}
}

var bounds = regexp.MustCompile(`_timestamp (>=|<) '([^']+)'`)

func (s *streamServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var q struct{ Statement string }
	_ = json.NewDecoder(r.Body).Decode(&q)
	w.Header().Set("Date", s.now.UTC().Format(http.TimeFormat))
	rows := slices.DeleteFunc(slices.Clone(s.rows), func(row map[string]any) bool {
		for _, b := range bounds.FindAllStringSubmatch(q.Statement, -1) {
			at, _ := time.Parse(time.RFC3339Nano, row["_timestamp"].(string))
			bound, _ := time.Parse(time.RFC3339Nano, b[2])
			if at.Before(bound) != (b[1] == "<") {
				return true
			}
		}
		return strings.HasSuffix(q.Statement, "LIMIT 0")
	})
	slices.SortStableFunc(rows, func(a, b map[string]any) int {
		return strings.Compare(a["_timestamp"].(string), b["_timestamp"].(string))
	})
	if m := regexp.MustCompile(`DESC LIMIT (\d+)`).FindStringSubmatch(q.Statement); m != nil {
		var most int
		_, _ = fmt.Sscan(m[1], &most)
		slices.Reverse(rows)
		rows = rows[:min(most, len(rows))]
	}
	for i, row := range rows {
		if s.broken > 0 && i == 1 {
			s.broken--
			cut(w, "")
		}
		text, _ := json.Marshal(row)
		_, _ = w.Write(append(text, '\n'))
	}
	_, _ = io.WriteString(w, `{"_meta":{"stats":{},"warnings":[]}}`+"\n")
	s.n++
	select {
	case s.looks <- s.n:
	default:
	}
}

// settled returns when two more looks were answered.
func (s *streamServer) settled() {
	for len(s.looks) > 0 {
		<-s.looks
	}
	<-s.looks
	<-s.looks
}

// syncBuffer is a buffer that one goroutine writes and another reads.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func TestTailShowsEveryRowOnce(t *testing.T) {
	t.Parallel()
	s := &streamServer{now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), looks: make(chan int, 100)}
	s.add(48*time.Hour, map[string]any{"m": "ancient"})
	s.add(time.Minute, map[string]any{"m": "old"})
	s.add(2*time.Second, map[string]any{"m": "recent"})
	var out syncBuffer
	root := cli.New(cli.Streams{In: strings.NewReader(""), Out: &out, Err: io.Discard})
	root.SetArgs([]string{"tail", "app", "--addr", serve(t, s.ServeHTTP), "--interval", "5ms", "-n", "2", "-o", "ndjson"})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- root.ExecuteContext(ctx) }()
	s.settled()
	s.settled()
	s.add(0, map[string]any{"m": "new"}, map[string]any{"m": "twin"}, map[string]any{"m": "twin"})
	s.settled()
	s.add(0, map[string]any{"m": "twin"}) // one more of the same
	s.add(8*time.Second, map[string]any{"m": "late"})
	s.settled()
	s.mu.Lock()
	s.broken = 2
	for _, r := range s.rows {
		r["column"] = nil // appears while rows are followed
	}
	s.mu.Unlock()
	s.add(0, map[string]any{"m": "after cuts"})
	s.settled()
	s.mu.Lock()
	s.now = s.now.Add(time.Minute)
	s.mu.Unlock()
	s.settled()
	s.add(0, map[string]any{"m": "a minute later"})
	s.settled()
	s.settled()
	cancel()
	require.NoError(t, <-done)
	var shown []string
	for line := range strings.Lines(out.String()) {
		var row struct{ M string }
		require.NoError(t, json.Unmarshal([]byte(line), &row))
		shown = append(shown, row.M)
	}
	require.Equal(t, []string{"old", "recent", "new", "twin", "twin"}, shown[:5])
	require.ElementsMatch(t, []string{"twin", "late"}, shown[5:7])
	require.Equal(t, []string{"after cuts", "a minute later"}, shown[7:])
}

func TestTailText(t *testing.T) {
	t.Parallel()
	s := &streamServer{now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), looks: make(chan int, 100)}
	s.add(0, map[string]any{"level": "warn", "message": "two\nlines", "user": "a b", "n": 1, "gone": nil})
	var out syncBuffer
	root := cli.New(cli.Streams{In: strings.NewReader(""), Out: &out, Err: io.Discard})
	root.SetArgs([]string{
		"tail", "logs.app", "--addr", serve(t, s.ServeHTTP), "--since", "5m", "--where", "TRUE -- comment", "--interval", "5ms",
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- root.ExecuteContext(ctx) }()
	s.settled()
	s.settled() // the first two answers may be those before the rows
	cancel()
	require.NoError(t, <-done)
	require.Equal(t, `2026-03-04T05:06:07.000Z  WARN   two\nlines  n=1  user="a b"`+"\n", out.String())
}

func TestTailSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":"not_found","message":"unknown stream logs.ap; nearest: \"app\""}`)
	})
	got := run(t.Context(), "", "tail", "ap", "--addr", addr)
	require.Equal(t, result{"", "millstream: unknown stream logs.ap; nearest: \"app\"\n", 1}, got)
}
