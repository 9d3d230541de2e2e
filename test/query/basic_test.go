package query_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func makeDir(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o750))
}

func TestFreshFlushedMixed(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{})
	web := logs("acme", "web")
	s.Write(web, row{"level": "info", "status": 200}, row{"level": "error", "status": 500, "msg": "boom"})
	a := s.ask("acme", "SELECT level, count(*) AS n FROM web GROUP BY level ORDER BY level")
	require.Equal(t, []string{"error|1", "info|1"}, a.rows)
	s.Flush()
	require.Equal(t, a.rows, s.ask("acme", "SELECT level, count(*) AS n FROM web GROUP BY level ORDER BY level").rows)
	s.Write(web, row{"level": "info", "status": "200"})
	require.Equal(t, []string{"error|1", "info|2"}, s.ask("acme", "SELECT level, count(*) AS n FROM web GROUP BY level ORDER BY level").rows)
	all := s.ask("acme", "SELECT * FROM web")
	require.Equal(t, []string{"_timestamp", "level", "status", "msg"}, all.columns)
	t.Log(all.rows, all.types, all.result.Stats())
}
