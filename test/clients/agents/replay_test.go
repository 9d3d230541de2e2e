package agents_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const batches, batchRows = 40, 25

// run sends the agent's rows to the last, by its rules. It calls halfway once when half of them are through, and returns how often an
// answer was lost, so that the rows of a batch may be there twice.
func (a agent) run(ctx context.Context, w *wire, halfway func()) (lost int, err error) {
	for i, probe := range a.probes {
		r, err := w.do(ctx, probe)
		if err != nil {
			return 0, err
		}
		if err := a.probed(i, r); err != nil {
			return 0, fmt.Errorf("%w: %s", err, r.body)
		}
	}
	for n := range batches {
		if n == batches/2 {
			halfway()
		}
		rows := make([]int, batchRows)
		for i := range rows {
			rows[i] = n*batchRows + i
		}
		again, err := a.deliver(ctx, w, rows)
		if err != nil {
			return lost, err
		}
		lost += again
	}
	return lost, nil
}

// deliver sends rows until the agent is content. It returns how often no answer came.
func (a agent) deliver(ctx context.Context, w *wire, rows []int) (lost int, err error) {
	wait := 20 * time.Millisecond // the agents begin with half a second and more
	for len(rows) > 0 {
		r, err := w.do(ctx, a.send(rows))
		if err != nil {
			lost++
		} else {
			if r.status >= 300 && r.status != 429 && r.status != 503 {
				return lost, fmt.Errorf("%s gets %d: %s", a.name, r.status, r.body)
			}
			rows = a.again(rows, r)
			if len(rows) == 0 {
				return lost, nil
			}
		}
		select {
		case <-time.After(wait):
			wait = min(2*wait, time.Second)
		case <-ctx.Done():
			return lost, fmt.Errorf("%s: %w, %w", a.name, ctx.Err(), err)
		}
	}
	return lost, nil
}

// TestAgents lets all agents send at once, stops and starts the server when each is halfway, and counts their rows.
func TestAgents(t *testing.T) {
	t.Parallel()
	server := mstest.Start(t, mstest.Config{Env: map[string]string{"MS_INTAKE_FLUSH_INTERVAL_SECS": "1", "MS_AUTH_MODE": "header"}})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	agents := all()
	lost := make([]int, len(agents))
	var sending, halfway sync.WaitGroup
	halfway.Add(len(agents))
	for i, a := range agents {
		sending.Go(func() {
			w := &wire{address: strings.TrimPrefix(server.HTTP, "http://")}
			defer w.close()
			once := sync.OnceFunc(halfway.Done)
			defer once()
			var err error
			if lost[i], err = a.run(ctx, w, once); err != nil {
				t.Errorf("%s: %v", a.name, err)
			}
		})
	}
	halfway.Wait()
	require.NoError(t, server.Restart(ctx))
	sending.Wait()
	require.False(t, t.Failed())

	for i, a := range agents {
		got := server.Client(org).Query(t, fmt.Sprintf(
			"SELECT count(*), count(DISTINCT n), min(n), max(n) FROM (SELECT (%s)::INT AS n FROM %s)", a.number, a.table))
		const sent = batches * batchRows
		rows, err := strconv.Atoi(string(got[0][0].(json.Number)))
		require.NoError(t, err)
		require.Equal(t, []any{json.Number(fmt.Sprint(sent)), json.Number("0"), json.Number(fmt.Sprint(sent - 1))}, got[0][1:], a.name)
		// An agent that got no answer cannot know: it sends the batch again, and this store keeps both.
		require.LessOrEqual(t, rows, sent+lost[i]*batchRows, a.name)
		t.Logf("%s: %d rows for %d sent, %d answers lost", a.name, rows, sent, lost[i])
	}
	requireColumns(t, server.Client(org))
}

// requireColumns looks at one row of each protocol field by field.
func requireColumns(t *testing.T, q mstest.Client) {
	t.Helper()
	got := q.Query(t, `SELECT message, filename, _labels FROM loki_logs WHERE job = 'promtail' AND message LIKE '%n=7' LIMIT 1`)
	require.Equal(t, [][]any{{line(7), "/var/log/shop.log", got[0][2]}}, got)
	require.JSONEq(t, `{"filename":"/var/log/shop.log","job":"promtail"}`, asText(t, got[0][2]))
	got = q.Query(t, `SELECT message, service_name, trace_id, _timestamp_nanos FROM loki_logs
		WHERE job = 'alloy' AND row_number = '7' LIMIT 1`)
	require.Equal(t, [][]any{{line(7), "shop", "0af7651916cd43dd8448eb211c80319c", json.Number("7")}}, got)
	got = q.Query(t, `SELECT message, "log.offset", "log.file.path", "ecs.version", "agent.type" FROM "filebeat-8.17.0" WHERE n = 7 LIMIT 1`)
	require.Equal(t, [][]any{{line(7), json.Number("0"), "/var/log/shop.log", "8.0.0", "filebeat"}}, got)
	got = q.Query(t, `SELECT message, "@version", "event.original" FROM "shop-logstash" WHERE n = 7 LIMIT 1`)
	require.Equal(t, [][]any{{line(7), "1", "x"}}, got)
}

func asText(t *testing.T, cell any) string {
	t.Helper()
	if s, ok := cell.(string); ok {
		return s
	}
	data, err := json.Marshal(cell)
	require.NoError(t, err)
	return string(data)
}
