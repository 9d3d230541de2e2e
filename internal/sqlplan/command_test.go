package sqlplan_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/sqlplan"
)

// noEngine is for statements that never reach one.
type noEngine struct{}

func (noEngine) SerializeSQL(context.Context, string) ([]byte, error) {
	return nil, fault.New(fault.Invalid, "reached the engine")
}

func (noEngine) DeserializeSQL(context.Context, []byte) (string, error) {
	return "", fault.New(fault.Internal, "reached the engine")
}

func (noEngine) Eval(context.Context, string) ([]sqlplan.Constant, error) {
	return nil, fault.New(fault.Internal, "reached the engine")
}

func (noEngine) Allowed(sqlplan.FunctionKind, string) bool           { return false }
func (noEngine) Rewrite(sqlplan.FunctionKind, string) (string, bool) { return "", false }
func (noEngine) Suggest(sqlplan.FunctionKind, string) []string       { return nil }

func parse(t *testing.T, sql string) (sqlplan.Statement, error) {
	t.Helper()
	return sqlplan.New(noEngine{}, noEngine{}).Parse(t.Context(), sql)
}

func TestParseOwnStatements(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]sqlplan.Statement{
		"SHOW STREAMS":                      &sqlplan.ShowStreams{},
		"show tables;":                      &sqlplan.ShowStreams{},
		"SHOW STREAMS FROM shop LIKE 'ng%'": &sqlplan.ShowStreams{Database: "shop", Like: "ng%", HasLike: true},
		`SHOW STREAMS IN "my-db" LIKE ''`:   &sqlplan.ShowStreams{Database: "my-db", HasLike: true},
		"SHOW DATABASES":                    &sqlplan.ShowDatabases{},
		"SHOW FULL DATABASES LIKE 'a''b'":   &sqlplan.ShowDatabases{Full: true, Like: "a'b", HasLike: true},
		"SHOW CREATE DATABASE Shop":         &sqlplan.ShowCreateDatabase{Database: "Shop"},
		"CREATE DATABASE shop":              &sqlplan.CreateDatabase{Database: "shop", Options: map[string]string{}},
		"CREATE DATABASE IF NOT EXISTS `a.b`": &sqlplan.CreateDatabase{
			Database: "a.b", IfNotExists: true, Options: map[string]string{},
		},
		"CREATE DATABASE d WITH (Ingest_Rows_Rate_Limit = '0100', 'retention' = '30d')": &sqlplan.CreateDatabase{
			Database: "d", Options: map[string]string{"ingest_rows_rate_limit": "100", "retention": "30d"},
		},
		`CREATE DATABASE d WITH ("ingest_rows_rate_limit" = 18446744073709551615)`: &sqlplan.CreateDatabase{
			Database: "d", Options: map[string]string{"ingest_rows_rate_limit": "18446744073709551615"},
		},
		"ALTER DATABASE d SET 'ingest_rows_rate_limit'='0', 'RETENTION' = '1d12h'": &sqlplan.AlterDatabase{
			Database: "d", Options: map[string]*string{"ingest_rows_rate_limit": new("0"), "retention": new("1d12h")},
		},
		"ALTER DATABASE d UNSET 'ingest_rows_rate_limit', 'retention'": &sqlplan.AlterDatabase{
			Database: "d", Options: map[string]*string{"ingest_rows_rate_limit": nil, "retention": nil},
		},
		"DROP DATABASE d": &sqlplan.DropDatabase{Database: "d"},
		"DROP /* really */ DATABASE IF EXISTS d -- bye": &sqlplan.DropDatabase{Database: "d", IfExists: true},
	} {
		got, err := parse(t, sql)
		require.NoError(t, err, sql)
		require.Equal(t, want, got, sql)
	}
	got, err := parse(t, `DESC shop.logs."nginx-access";`)
	require.NoError(t, err)
	require.Equal(t, sqlplan.Name{Parts: []string{"shop", "logs", "nginx-access"}, Offset: 5}, got.(*sqlplan.Describe).Stream)
	require.False(t, got.Writes())
	got, err = parse(t, "ALTER STREAM logs.nginx SET 'retention' = '1d'")
	require.NoError(t, err)
	require.Equal(t, []string{"logs", "nginx"}, got.(*sqlplan.AlterStream).Stream.Parts)
	require.Equal(t, map[string]*string{"retention": new("1d")}, got.(*sqlplan.AlterStream).Options)
	require.True(t, got.Writes())
}

func TestParseRefusesOwnStatements(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/refused.txt")
	require.NoError(t, err)
	sql := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		want, expected := strings.CutPrefix(line, "> ")
		switch {
		case strings.HasPrefix(line, "#"):
		case !expected:
			sql = strings.ReplaceAll(line, `\n`, "\n")
		default:
			_, err := parse(t, sql)
			require.Error(t, err, sql)
			require.Equal(t, fault.Invalid, fault.KindOf(err), sql)
			require.Equal(t, want, fmt.Sprintf("%d %s", sqlplan.CodeOf(err), fault.Message(err)), sql)
		}
	}
	_, err = parse(t, "")
	require.EqualError(t, err, "the statement is empty")
}

func TestParseRetention(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for s, want := range map[string]time.Duration{
		"30d": 30 * day, "1d12h": 36 * time.Hour, "1y": 365 * day, "2w": 14 * day, "90s": 90 * time.Second, "010m": 10 * time.Minute,
		"0d1h":         time.Hour,
		"1y1w1d1h1m1s": 365*day + 7*day + day + time.Hour + time.Minute + time.Second, "292y": 292 * 365 * day,
	} {
		got, err := sqlplan.ParseRetention(s)
		require.NoError(t, err, s)
		require.Equal(t, want, got, s)
	}
	for _, s := range []string{
		"", "0", "0d", "d", "30", "30 d", "-1d", "1.5d", "1h1d",
		"1d1d", "1ms", "1D", "1month", "293y", "99999999999999999999s", "1d ",
	} {
		_, err := sqlplan.ParseRetention(s)
		require.Error(t, err, s)
		require.Equal(t, fault.Invalid, fault.KindOf(err))
	}
}

func TestMatchLike(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"%", "", true},
		{"%", "abc", true},
		{"a%", "abc", true},
		{"%c", "abc", true},
		{"a%c", "abc", true},
		{"a_c", "abc", true},
		{"a_c", "ac", false},
		{"A%", "abc", false},
		{"%b%", "abc", true},
		{"%b", "abc", false},
		{"a%b%c", "aXbYbZc", true},
		{"é_", "éü", true},
	} {
		require.Equal(t, c.want, sqlplan.MatchLike(c.pattern, c.name), "%q %q", c.pattern, c.name)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	stream := func(db string, s signal.Signal, name string) catalog.Stream {
		return catalog.Stream{Stream: signal.Stream{Org: "acme", Database: db, Signal: s, Name: name}}
	}
	names := sqlplan.NewNames("", []catalog.Stream{
		stream("public", signal.Logs, "nginx"), stream("public", signal.Logs, "Nginx"), stream("public", signal.Logs, "both"),
		stream("public", signal.Traces, "both"), stream("shop", signal.Logs, "orders"), stream("logs", signal.Traces, "nginx"),
		stream("public", signal.Metrics, "http:requests.total"), stream("public", signal.Logs, "Upper"),
	})
	for _, c := range []struct {
		parts []string
		want  string
	}{
		{[]string{"nginx"}, "acme/logs/nginx"},
		{[]string{"Nginx"}, "acme/logs/Nginx"},
		{[]string{"upper"}, "acme/logs/Upper"},
		{[]string{"logs", "nginx"}, "acme/logs/nginx"},
		{[]string{"LOGS", "nginx"}, "acme/logs/nginx"},
		{[]string{"logs", "traces", "nginx"}, "acme/traces/logs.nginx"},
		{[]string{"shop", "orders"}, "acme/logs/shop.orders"},
		{[]string{"SHOP", "Orders"}, "acme/logs/shop.orders"},
		{[]string{"shop", "logs", "orders"}, "acme/logs/shop.orders"},
		{[]string{"traces", "both"}, "acme/traces/both"},
		{[]string{"http:requests.total"}, "acme/metrics/http:requests.total"},
	} {
		got, err := names.Resolve(c.parts)
		require.NoError(t, err, c.parts)
		require.Equal(t, c.want, got.String())
	}
	for _, c := range []struct {
		parts []string
		kind  fault.Kind
		want  string
	}{
		{[]string{"NGINX"}, fault.Invalid, "NGINX fits several streams: public.logs.nginx, public.logs.Nginx"},
		{[]string{"both"}, fault.Invalid, "both fits several streams: public.logs.both, public.traces.both"},
		{[]string{"orders"}, fault.NotFound, `unknown stream orders; nearest: "shop.logs.orders"`},
		{[]string{"ngnix"}, fault.NotFound, `unknown stream ngnix; nearest: "nginx", "Nginx", "logs.traces.nginx"`},
		{[]string{"shop", "order"}, fault.NotFound, `unknown stream shop.order; nearest: "shop.logs.orders"`},
		{[]string{"shop", "spans", "x"}, fault.NotFound, `"spans" in shop.spans.x is no signal; there are logs, metrics and traces`},
		{[]string{"a b"}, fault.NotFound, `unknown stream "a b"`},
	} {
		_, err := names.Resolve(c.parts)
		require.Equal(t, c.kind, fault.KindOf(err), c.parts)
		require.Equal(t, c.want, fault.Message(err))
	}
}

// FuzzParse checks that the tokenizer and our own grammar take any text.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"SHOW STREAMS FROM \"a\"\"b\" LIKE 'x%'", "ALTER DATABASE d SET 'retention'='1d'", "/* a /* b */ */ DESC x.y", "$a$ x $a$",
		"CREATE DATABASE d WITH (a.b = 1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		_, err := parse(t, sql)
		if err != nil && fault.KindOf(err) != fault.Invalid {
			t.Fatal(err)
		}
	})
}
