package agents_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

// TestRefusedAgentsLoseNothing lets all agents send at once to a server that refuses them again and again: by the rows of their database,
// or by the bytes of their org. Each sends on by its own rules, and every row is there once.
func TestRefusedAgentsLoseNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env       map[string]string
		statement string
	}{
		"rows":  {nil, "ALTER DATABASE public SET 'ingest_rows_rate_limit' = '1000'"},
		"bytes": {map[string]string{"MS_LIMITS_INGESTION_RATE_MB": "0.25", "MS_LIMITS_INGESTION_BURST_SIZE_MB": "0.25"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{"MS_AUTH_MODE": "header"}
			maps.Copy(env, c.env)
			server := mstest.Start(t, mstest.Config{Env: env})
			if c.statement != "" {
				server.Client(org).Query(t, c.statement)
			}
			sendRefused(t, server)
		})
	}
}

func sendRefused(t *testing.T, server *mstest.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	agents := all()
	refused := make([]atomic.Int64, len(agents))
	var sending sync.WaitGroup
	for i, a := range agents {
		rule := a.again
		a.again = func(rows []int, r response) []int {
			if r.status == 429 {
				refused[i].Add(1)
			}
			return rule(rows, r)
		}
		sending.Go(func() {
			w := &wire{address: strings.TrimPrefix(server.HTTP, "http://")}
			defer w.close()
			if lost, err := a.run(ctx, w, func() {}); err != nil || lost > 0 {
				t.Errorf("%s: %v, %d answers lost", a.name, err, lost)
			}
		})
	}
	sending.Wait()
	require.False(t, t.Failed())
	for i, a := range agents {
		require.Positive(t, refused[i].Load(), "%s was never refused", a.name)
		got := server.Client(org).Query(t, fmt.Sprintf(
			"SELECT count(*), count(DISTINCT n), min(n), max(n) FROM (SELECT (%s)::INT AS n FROM %s)", a.number, a.table))
		const sent = batches * batchRows
		number := func(n int) json.Number { return json.Number(strconv.Itoa(n)) }
		require.Equal(t, []any{number(sent), number(sent), number(0), number(sent - 1)}, got[0], a.name)
		t.Logf("%s: refused %d times, %d rows stored", a.name, refused[i].Load(), sent)
	}
}
