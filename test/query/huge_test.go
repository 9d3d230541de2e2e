package query_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/signal"
)

// TestHugePages stores messages of which one row group has more bytes than is read in front of the engine: it answers as ever, and so it
// does when such files are merged.
func TestHugePages(t *testing.T) {
	t.Parallel()
	const perFile, size = 4500, 32 << 10 // 140 MiB a row group
	s := newStore(t, storeOptions{})
	web := logs("acme", "web")
	pad := strings.Repeat("x", size)
	for file := range 2 {
		var rows []row
		for n := range perFile {
			at := now.Add(-time.Duration((1-file)*perFile+perFile-n) * time.Millisecond)
			rows = append(rows, row{signal.TimeColumn: at, "m": fmt.Sprintf("request r%d %s", file*perFile+n, pad), "even": fmt.Sprint(n%2 == 0)})
		}
		s.Write(web, rows...)
		s.Flush()
	}
	check := func() {
		for sql, want := range map[string][]string{
			"SELECT left(m, 10), length(m) FROM web WHERE match(m, 'r42')":                {"request r4|32780"},
			"SELECT count(*) FROM web WHERE even = 'true' AND m LIKE 'request r%'":        {"4500"},
			"SELECT left(m, 13) FROM web ORDER BY _timestamp DESC LIMIT 1":                {"request r8999"},
			"SELECT even, count(*) FROM web GROUP BY ALL ORDER BY 1":                      {"false|4500", "true|4500"},
			"SELECT left(m, 13) FROM web WHERE even = 'true' ORDER BY _timestamp LIMIT 1": {"request r0 xx"},
		} {
			require.Equal(t, want, s.ask("acme", sql).rows, sql)
		}
	}
	check()
	require.NoError(t, s.compactor().Compact(t.Context()))
	check()
}
