package sqlplanduck_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/duck"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/sqlplan"
	"github.com/millstream/millstream/internal/sqlplan/sqlplanduck"
	"github.com/millstream/millstream/internal/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const org tenant.ID = "acme"

// now is the time of every statement in these tests.
func now() time.Time { return time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC) }

func stream(id catalog.StreamID, database string, s signal.Signal, name string) catalog.Stream {
	return catalog.Stream{Stream: signal.Stream{Org: org, Database: database, Signal: s, Name: name}, ID: id}
}

// streams are what the org of these tests has.
func streams() []catalog.Stream {
	return []catalog.Stream{
		stream(1, "public", signal.Logs, "nginx"),
		stream(2, "public", signal.Traces, "spans"),
		stream(3, "public", signal.Logs, "mixed"),
		stream(4, "public", signal.Logs, "nginx-access"),
		stream(5, "shop", signal.Logs, "nginx"),
		stream(6, "public", signal.Metrics, "up"),
		stream(7, "public", signal.Logs, "both"),
		stream(8, "public", signal.Traces, "both"),
		stream(9, "public", signal.Logs, "Case"),
	}
}

func col(id catalog.ColumnID, name string, types ...signal.Type) catalog.Column {
	return catalog.Column{ID: id, Name: name, Physical: name, Types: signal.SetOf(types...)}
}

func columns() map[catalog.StreamID][]catalog.Column {
	logs := []catalog.Column{
		col(1, "message", signal.String), col(2, "level", signal.String), col(3, "status", signal.Int64), col(4, "duration", signal.Float64),
		col(5, "host", signal.String), col(6, "resource.service.name", signal.String), col(7, "cached", signal.Bool),
		col(8, "seen", signal.Timestamp), col(9, "payload", signal.JSON),
		{ID: 10, Name: "Status", Physical: "Status__2", Types: signal.SetOf(signal.String)},
	}
	spans := []catalog.Column{
		col(1, "trace_id", signal.String), col(2, "name", signal.String), col(3, "duration_ns", signal.Int64), col(4, "host", signal.String),
	}
	mixed := []catalog.Column{
		col(1, "level", signal.Bool, signal.Int64), col(2, "n", signal.Int64, signal.String), col(3, "k", signal.Int64),
		col(4, "host", signal.String),
		col(5, "at", signal.Timestamp, signal.String), col(6, "ok", signal.Bool, signal.String),
	}
	up := []catalog.Column{col(1, "value", signal.Float64)}
	return map[catalog.StreamID][]catalog.Column{1: logs, 2: spans, 3: mixed, 4: logs, 5: logs, 6: up, 7: logs, 8: spans, 9: logs}
}

// bench is an engine with toy tables.
type bench struct {
	planner *sqlplan.Planner
	inst    *duck.Instance
}

func newBench(t testing.TB) *bench {
	t.Helper()
	opts := duck.Options{Concurrency: 1, MemoryLimit: 1 << 30, TempDir: t.TempDir(), TempMaxSize: 1 << 30, Threads: 2}
	pool, err := duck.NewPool(opts, nil, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	b := &bench{planner: sqlplanduck.NewPlanner(pool.Parser())}
	b.inst, err = pool.Acquire(context.Background(), org)
	require.NoError(t, err)
	t.Cleanup(b.inst.Release)
	return b
}

// plan plans a statement for database public.
func (b *bench) plan(t testing.TB, sql string) (*sqlplan.Plan, error) {
	t.Helper()
	return b.planWith(t, sql, sqlplan.Binding{Columns: columns(), Now: now()})
}

func (b *bench) planWith(t testing.TB, sql string, in sqlplan.Binding) (*sqlplan.Plan, error) {
	t.Helper()
	s, err := b.planner.Parse(context.Background(), sql)
	if err != nil {
		return nil, err
	}
	q, ok := s.(*sqlplan.Query)
	if !ok {
		return nil, errors.New("no query")
	}
	if _, err := q.Resolve(sqlplan.NewNames("public", streams())); err != nil {
		return nil, err
	}
	return q.Bind(context.Background(), in)
}

func (b *bench) exec(t testing.TB, sql string) {
	t.Helper()
	require.NoError(t, b.inst.Exec(context.Background(), sql), sql)
}

// rows runs a SELECT and returns its rows as text.
func (b *bench) rows(sql string) (rows, names []string, err error) {
	ctx := context.Background()
	r, err := b.inst.Query(ctx, sql)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for _, f := range r.Schema().Fields() {
		names = append(names, f.Name)
	}
	for {
		batch, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			return rows, names, nil
		}
		if err != nil {
			return nil, nil, err
		}
		for i := range int(batch.NumRows()) {
			var cells []string
			for _, c := range batch.Columns() {
				cells = append(cells, c.ValueStr(i))
			}
			rows = append(rows, strings.Join(cells, "|"))
		}
		batch.Release()
	}
}

// toyOf names the toy table behind a stream.
func toyOf(s catalog.Stream) string {
	switch s.ID {
	case 2, 8:
		return "base_spans"
	case 3:
		return "base_mixed"
	case 6:
		return "base_up"
	default:
		return "base_nginx"
	}
}

// viewOf returns the statement that makes the view of a table: the columns and the time that the plan asks for, and no more.
func viewOf(table sqlplan.Table) string {
	shown := []string{"NULL AS ms_none"}
	for _, c := range table.Columns.Names {
		shown = append(shown, fmt.Sprintf("%q", c))
	}
	if table.Columns.All {
		hidden := slices.DeleteFunc([]string{"_timestamp_nanos", "_block"}, func(c string) bool {
			return slices.Contains(table.Columns.Names, c)
		})
		shown = []string{"*"}
		if len(hidden) > 0 {
			shown[0] += " EXCLUDE (" + strings.Join(hidden, ", ") + ")"
		}
	}
	where := "true"
	if table.Time.Start != sqlplan.MinTime {
		where += fmt.Sprintf(" AND _timestamp >= make_timestamptz(%d)", table.Time.Start)
	}
	if table.Time.End != sqlplan.MaxTime {
		where += fmt.Sprintf(" AND _timestamp < make_timestamptz(%d)", table.Time.End)
	}
	return fmt.Sprintf("CREATE OR REPLACE TEMP VIEW %s AS SELECT %s FROM %s WHERE %s",
		table.Name, strings.Join(shown, ", "), toyOf(table.Stream), where)
}

// run plans and runs a statement over the toy tables.
func (b *bench) run(t testing.TB, sql string) (rows, names []string, err error) {
	t.Helper()
	p, err := b.plan(t, sql)
	if err != nil {
		return nil, nil, err
	}
	for _, table := range p.Tables {
		b.exec(t, viewOf(table))
	}
	rows, names, err = b.rows(p.SQL)
	if err != nil {
		return nil, nil, p.UserError(sqlplanduck.Mistake(err))
	}
	return rows, names, nil
}

// toys creates the toy tables, base_nginx and so on, and views of them under the streams' names that show what SELECT * shows.
func (b *bench) toys(t testing.TB) {
	t.Helper()
	for _, sql := range statements(t, "toys.sql") {
		b.exec(t, sql)
	}
	for _, name := range []string{"nginx", "spans", "mixed", "up"} {
		b.exec(t, fmt.Sprintf("CREATE TEMP VIEW %s AS SELECT * EXCLUDE (_timestamp_nanos, _block) FROM base_%s", name, name))
	}
}
