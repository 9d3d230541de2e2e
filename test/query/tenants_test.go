package query_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/querier"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

// TestSeveralOrgs reads streams of several orgs as one, fresh, mixed and flushed.
func TestSeveralOrgs(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{})
	several := func(statement string) answer {
		t.Helper()
		a, err := s.try(t.Context(), querier.Request{Org: "a", Orgs: []tenant.ID{"a", "b", "nobody"}, Statement: statement})
		require.NoError(t, err, statement)
		return a
	}
	for round := range 3 {
		if round < 2 { // the second time some rows are in files
			s.Write(logs("a", "web"), row{"n": 1, "Msg": "of a", "only_a": true}, row{"n": 1 << 53, "Msg": "of a"})
			s.Write(logs("b", "web"), row{"n": 2.5, "msg": "of b"}, row{"n": "text", "msg": "of b"})
			s.Write(logs("b", "mine"), row{"x": "secret of b"})
			s.Write(logs("c", "web"), row{"n": 7, "Msg": "of c"})
		}
		rows := int64(1)
		if round > 0 {
			rows = 2
		}
		times := func(lines ...string) (out []string) {
			for _, l := range lines {
				for range rows {
					out = append(out, l)
				}
			}
			return out
		}
		a := several(`SELECT __tenant_id__, "Msg", "msg__2", only_a FROM web`)
		require.Equal(t, []string{"VARCHAR", "VARCHAR", "VARCHAR", "BOOLEAN"}, a.types)
		require.Equal(t, times("a|of a|(null)|(null)", "a|of a|(null)|true", "b|(null)|of b|(null)", "b|(null)|of b|(null)"), a.sorted())

		require.Equal(t, times("1", "2.5", "9007199254740992", "text"), several("SELECT n FROM web").sorted(), "widened together")
		require.Contains(t, several("SELECT * FROM web").columns, signal.TenantColumn)
		require.NotContains(t, s.ask("a", "SELECT * FROM web").columns, signal.TenantColumn, "one org has no such column")

		require.ElementsMatch(t, times("of a", "of a"), several(`SELECT "Msg" FROM web WHERE __tenant_id__ = 'a'`).rows)
		require.Empty(t, several(`SELECT n FROM web WHERE __tenant_id__ = 'c'`).rows, "an org that is not asked has no rows")
		require.Empty(t, several(`SELECT n FROM web WHERE __tenant_id__ IN ('c', 'nobody')`).rows)
		require.Equal(t, times("b|text", "b|2.5")[:2*rows],
			several(`SELECT __tenant_id__, n FROM web WHERE __tenant_id__ <> 'a' ORDER BY n DESC`).rows)
		require.Equal(t, times("secret of b"), several("SELECT x FROM mine").rows, "a stream that one of them has")
		join := several(`SELECT count(*) FROM web x JOIN web y ON x.__tenant_id__ = y.__tenant_id__`)
		require.Equal(t, []string{map[int64]string{1: "8", 2: "32"}[rows]}, join.rows)
		if round == 1 {
			s.Flush()
		}
	}
	pruned := several(`SELECT count(*) FROM web WHERE __tenant_id__ = 'a'`)
	require.Equal(t, []string{"4"}, pruned.rows)
	require.Equal(t, int64(4), pruned.result.Stats().ScannedRows, "the other org's files are not read")
	newest := several("SELECT n FROM web ORDER BY _timestamp DESC LIMIT 100")
	require.Len(t, newest.rows, 8)
}

func TestSeveralOrgsAreAskedWithSelectAlone(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{})
	s.Write(logs("a", "web"), row{"n": 1})
	for _, statement := range []string{
		"SHOW STREAMS", "SHOW DATABASES", "DESCRIBE web", "CREATE DATABASE d", "DROP DATABASE d", "ALTER STREAM web SET 'retention'='1d'",
	} {
		_, err := s.try(t.Context(), querier.Request{
			Org: "a", Orgs: []tenant.ID{"a", "b"}, Statement: statement, Change: true, Admin: true,
		})
		require.True(t, fault.Is(err, fault.Invalid), "%s: %v", statement, err)
	}
	_, err := s.try(t.Context(), querier.Request{Org: "a", Orgs: []tenant.ID{"a", "b"}, Statement: "SELECT * FROM wbe"})
	require.True(t, fault.Is(err, fault.NotFound), err)
}

func TestSeveralOrgsOfMetrics(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{})
	for _, org := range []tenant.ID{"a", "b"} {
		of := signal.Stream{Org: org, Database: signal.DefaultDatabase, Signal: signal.Metrics, Name: "up"}
		labels := jsonText(`{"__tenant_id__":"stored","job":"` + string(org) + `"}`)
		s.Write(of, row{signal.MetricColumn: "up", signal.ValueColumn: 1.5, signal.LabelsColumn: labels})
	}
	a, err := s.try(t.Context(), querier.Request{
		Org: "a", Orgs: []tenant.ID{"a", "b"}, Statement: `SELECT __tenant_id__, job, original___tenant_id__, value FROM up ORDER BY 1`,
	})
	require.NoError(t, err)
	require.Equal(t, []string{"a|a|stored|1.5", "b|b|stored|1.5"}, a.rows)
}
