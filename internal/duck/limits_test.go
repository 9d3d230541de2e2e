package duck_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/duck"
	"github.com/millstream/millstream/internal/fault"
)

// peakRSS returns the largest resident size of the process so far, in bytes.
func peakRSS(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(status), "VmHWM:")
	require.True(t, found)
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	require.NoError(t, err)
	return kib << 10
}

// resetPeakRSS makes the current resident size the peak.
func resetPeakRSS(t *testing.T) {
	t.Helper()
	require.NoError(t, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0))
}

// Not parallel: it measures the process.
func TestResultsStream(t *testing.T) { //nolint:paralleltest // measures the memory of the process
	i := acquire(t, newPool(t, func(o *duck.Options) { o.MemoryLimit = 256 << 20 }), "a")
	const total = 3_000_000
	resetPeakRSS(t)
	before := peakRSS(t)
	rows, err := i.Query(t.Context(), "SELECT range AS n, 'line ' || range || repeat(' of some length', 10) AS message FROM range(3000000)")
	require.NoError(t, err)
	n := int64(0)
	for {
		b, err := rows.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		n += b.NumRows()
		b.Release()
		if n == b.NumRows() {
			require.Less(t, peakRSS(t)-before, int64(64<<20), "the first batch waits for no other")
		}
	}
	require.EqualValues(t, total, n)
	// The texts are 500 MB; what is held is a window of them and garbage of Go.
	require.Less(t, peakRSS(t)-before, int64(192<<20))
	require.NoError(t, rows.Close())
	_, err = rows.Next(t.Context())
	require.ErrorIs(t, err, io.EOF)
}

func TestCancelInterrupts(t *testing.T) {
	t.Parallel()
	p := newPool(t, nil)
	for _, c := range []struct{ name, sql string }{
		{"scan", "SELECT count(*) FROM range(1000000000000)"},
		{"join", "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE (a.range * b.range) % 7 = 3"},
		{"sort", "SELECT * FROM range(1000000000000) ORDER BY range DESC"},
		{"recursion", "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t"},
	} {
		i := acquire(t, p, "a")
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, _, err := read(ctx, i, c.sql)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded, c.name)
		i.Release()
	}
	i := acquire(t, p, "a")
	ctx, cancel := context.WithCancelCause(t.Context())
	rows, err := i.Query(ctx, "SELECT * FROM range(1000000000000)")
	require.NoError(t, err)
	cause := errors.New("the client left")
	cancel(cause)
	_, err = rows.Next(ctx)
	require.ErrorIs(t, err, cause)
	i.Release()
	require.Equal(t, []string{"1"}, readOne(t, acquire(t, p, "a"), "SELECT 1"))
}

func TestMemoryBombEndsItsOwnStatement(t *testing.T) {
	t.Parallel()
	p := newPool(t, func(o *duck.Options) { o.MemoryLimit, o.TempMaxSize = 200<<20, 0 })
	for _, sql := range []string{
		"SELECT range::VARCHAR || '-key' AS k, count(*) FROM range(50000000) GROUP BY k",
		"SELECT list(range) FROM range(100000000)",
		"SELECT string_agg(range::VARCHAR, ',') FROM range(100000000)",
		"SELECT DISTINCT range * 7 FROM range(50000000)",
	} {
		bomb := acquire(t, p, "a")
		done := make(chan error)
		go func() {
			_, _, err := read(t.Context(), bomb, sql)
			done <- err
		}()
		other := acquire(t, p, "b")
		require.Equal(t, []string{"1000"}, readOne(t, other, "SELECT count(*) FROM range(1000)"))
		other.Release()
		err := <-done
		require.True(t, fault.Is(err, fault.Invalid), "%s: %v", sql, err)
		require.Contains(t, fault.Message(err), "limit of this query (", sql)
		bomb.Release()
	}
}

func TestSpillIsBounded(t *testing.T) {
	t.Parallel()
	const sql = "SELECT max(k) FROM (SELECT range::VARCHAR || repeat('x', 100) AS k, count(*) FROM range(2000000) GROUP BY k)"
	p := newPool(t, func(o *duck.Options) { o.Concurrency, o.MemoryLimit, o.TempMaxSize = 1, 96<<20, 16<<20 })
	i := acquire(t, p, "a")
	_, _, err := read(t.Context(), i, sql)
	require.True(t, fault.Is(err, fault.Invalid), "%v", err)
	require.Contains(t, fault.Message(err), "limit of this query (")
	require.NotContains(t, fault.Message(err), p.TempDir())
	i.Release()
	roomy := newPool(t, func(o *duck.Options) { o.Concurrency, o.MemoryLimit, o.TempMaxSize = 1, 96<<20, 4<<30 })
	require.Len(t, readOne(t, acquire(t, roomy, "a"), sql), 1)
}
