package catalogtest

import (
	"fmt"
	"maps"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
)

// hostile are names that break statements put together from text.
func hostile() []string {
	return []string{
		`a'b`, `a"b`, `a;DROP TABLE segments;--`, `100%`, `_a`, `a\b`, `größe`, `日本`, `$1`, `?1`, `:a`, `{x}`, `a,b`, `[1]`, ` `,
	}
}

func databaseCases() []testCase {
	return []testCase{
		{"create, list and refuse twice", createDatabase},
		{"the default database is always there", defaultDatabase},
		{"options are stored and removed", databaseOptions},
		{"drop, then create again", dropDatabase},
		{"hostile names", hostileDatabases},
	}
}

func (f *fixture) create(name string) catalog.Database {
	f.t.Helper()
	d, err := f.CreateDatabase(f.ctx, acme, name, nil)
	require.NoError(f.t, err)
	return d
}

func (f *fixture) databaseNames() (names []string) {
	f.t.Helper()
	list, err := f.Databases(f.ctx, acme)
	require.NoError(f.t, err)
	for _, d := range list {
		require.Equal(f.t, acme, d.Org)
		require.NotNil(f.t, d.Options)
		names = append(names, d.Name)
	}
	return names
}

func createDatabase(f *fixture) {
	options := map[string]string{"retention": "7d", "": "%'\x00"}
	d, err := f.CreateDatabase(f.ctx, acme, "zoo", options)
	require.NoError(f.t, err)
	require.Equal(f.t, options, d.Options)
	require.Positive(f.t, d.ID)
	require.False(f.t, d.Created.IsZero())
	_, err = f.CreateDatabase(f.ctx, acme, "zoo", nil)
	require.ErrorIs(f.t, err, catalog.ErrDatabaseExists)
	require.True(f.t, fault.Is(err, fault.Conflict))
	twin, err := f.CreateDatabase(f.ctx, other, "zoo", nil)
	require.NoError(f.t, err, "another org may have the name")
	require.NotEqual(f.t, d.ID, twin.ID)
	require.NotNil(f.t, twin.Options)
	f.create("Zoo")
	f.create("abc")
	require.Equal(f.t, []string{"Zoo", "abc", signal.DefaultDatabase, "zoo"}, f.databaseNames(), "by name, in the order of bytes")
	list, err := f.Databases(f.ctx, acme)
	require.NoError(f.t, err)
	require.Equal(f.t, d, list[3])
}

func defaultDatabase(f *fixture) {
	require.Equal(f.t, []string{signal.DefaultDatabase}, f.databaseNames())
	_, err := f.CreateDatabase(f.ctx, acme, signal.DefaultDatabase, nil)
	require.ErrorIs(f.t, err, catalog.ErrDatabaseExists)
	require.ErrorIs(f.t, f.DropDatabase(f.ctx, acme, signal.DefaultDatabase), catalog.ErrDefaultDropped)
	f.both()
	require.Equal(f.t, []string{signal.DefaultDatabase}, f.databaseNames(), "a stream in it does not make a second one")
	require.ErrorIs(f.t, f.DropDatabase(f.ctx, acme, signal.DefaultDatabase), catalog.ErrDefaultDropped)
	d, err := f.AlterDatabase(f.ctx, other, signal.DefaultDatabase, map[string]*string{"a": new("b")})
	require.NoError(f.t, err)
	require.Positive(f.t, d.ID)
	require.Equal(f.t, map[string]string{"a": "b"}, d.Options)
	list, err := f.Databases(f.ctx, acme)
	require.NoError(f.t, err)
	require.Empty(f.t, list[0].Options, "options of one org are not those of another")
}

func databaseOptions(f *fixture) {
	_, err := f.AlterDatabase(f.ctx, acme, "d", nil)
	require.ErrorIs(f.t, err, catalog.ErrNoDatabase)
	d, err := f.CreateDatabase(f.ctx, acme, "d", map[string]string{"a": "1", "b": "2"})
	require.NoError(f.t, err)
	_, err = f.AlterDatabase(f.ctx, other, "d", nil)
	require.ErrorIs(f.t, err, catalog.ErrNoDatabase)
	got, err := f.AlterDatabase(f.ctx, acme, "d", map[string]*string{"a": nil, "b": new("3"), "c": new(""), "x": nil})
	require.NoError(f.t, err)
	d.Options = map[string]string{"b": "3", "c": ""}
	require.Equal(f.t, d, got)
	list, err := f.Databases(f.ctx, acme)
	require.NoError(f.t, err)
	require.Equal(f.t, d, list[0])

	f.create("plain")
	f.both() // stores a default database without options
	twin, err := f.CreateDatabase(f.ctx, other, "d", map[string]string{"a": "1"})
	require.NoError(f.t, err)
	all, err := f.DatabasesWithOptions(f.ctx)
	require.NoError(f.t, err)
	require.Equal(f.t, []catalog.Database{d, twin}, all)
	_, err = f.AlterDatabase(f.ctx, acme, "d", map[string]*string{"b": nil, "c": nil})
	require.NoError(f.t, err)
	all, err = f.DatabasesWithOptions(f.ctx)
	require.NoError(f.t, err)
	require.Equal(f.t, []catalog.Database{twin}, all)
}

func dropDatabase(f *fixture) {
	require.ErrorIs(f.t, f.DropDatabase(f.ctx, acme, "d"), catalog.ErrNoDatabase)
	first := f.create("d")
	where := signal.Stream{Org: acme, Database: "d", Signal: signal.Logs, Name: "s"}
	old := f.ensure(where)[0]
	safe := f.logs(acme, "s")
	epoch := f.start()
	gone := f.publish("n", epoch, old, 0, 5)
	kept := f.publish("n", epoch, safe, 0, 5)
	_, err := f.ReserveColumns(f.ctx, old.ID, []string{"a"})
	require.NoError(f.t, err)

	require.ErrorIs(f.t, f.DropDatabase(f.ctx, other, "d"), catalog.ErrNoDatabase)
	require.NoError(f.t, f.DropDatabase(f.ctx, acme, "d"))
	require.Equal(f.t, []string{signal.DefaultDatabase}, f.databaseNames())
	require.Equal(f.t, ids(kept.Segments), f.live(old, safe))
	require.Equal(f.t, ids(gone.Segments), ids(f.retired()), "its segments are retired, not lost")
	_, err = f.EnsureStreams(f.ctx, []signal.Stream{where})
	require.ErrorIs(f.t, err, catalog.ErrNoDatabase)
	_, err = f.ReserveColumns(f.ctx, old.ID, []string{"b"})
	require.ErrorIs(f.t, err, catalog.ErrNoStream)
	require.Equal(f.t, []catalog.CommitResult{{Outcome: catalog.Gone}, {Outcome: catalog.Committed, Current: 6}},
		f.commit("n", epoch, f.part(old, 5, 6), f.part(safe, 5, 6)))
	sequences, err := f.Committed(f.ctx, "n", epoch)
	require.NoError(f.t, err)
	require.Equal(f.t, map[catalog.DatasetID]uint64{safe.Dataset: 6}, sequences)

	second := f.create("d")
	require.Greater(f.t, second.ID, first.ID)
	again := f.ensure(where)[0]
	require.Greater(f.t, again.ID, old.ID)
	require.Greater(f.t, again.Dataset, old.Dataset)
	require.Equal(f.t, second.ID, again.Database)
	require.Empty(f.t, f.live(again), "a new database of the name does not get the old rows")
	columns, err := f.Columns(f.ctx, again.ID)
	require.NoError(f.t, err)
	require.Empty(f.t, columns)
}

func hostileDatabases(f *fixture) {
	for _, name := range hostile() {
		d := f.create(name)
		require.Equal(f.t, name, d.Name)
		s := f.ensure(signal.Stream{Org: acme, Database: name, Signal: signal.Traces, Name: name})[0]
		require.Equal(f.t, d.ID, s.Database)
		require.Equal(f.t, name, s.Stream.Database)
		require.Equal(f.t, name, s.Name)
	}
	require.Len(f.t, f.databaseNames(), len(hostile())+1)
	for _, name := range hostile() {
		require.NoError(f.t, f.DropDatabase(f.ctx, acme, name))
	}
}

func streamCases() []testCase {
	return []testCase{
		{"ensure is idempotent and keeps the order", ensureStreams},
		{"streams of several databases are refused", ensureMixed},
		{"names that differ in case are different streams", streamCase},
		{"metrics of a database share a dataset", metricsShare},
		{"list is sorted", listStreams},
		{"options are stored and removed", streamOptions},
		{"thousands at once", manyStreams},
	}
}

func ensureStreams(f *fixture) {
	in := func(kind signal.Signal, name string) signal.Stream {
		return signal.Stream{Org: acme, Database: signal.DefaultDatabase, Signal: kind, Name: name}
	}
	require.Empty(f.t, f.ensure())
	first := f.ensure(in(signal.Logs, "b"), in(signal.Logs, "a"))
	second := f.ensure(in(signal.Logs, "a"), in(signal.Traces, "a"), in(signal.Logs, "b"), in(signal.Logs, "a"))
	require.Equal(f.t, []catalog.Stream{first[1], first[0], first[1]}, []catalog.Stream{second[0], second[2], second[3]})
	require.NotEqual(f.t, second[0].ID, second[1].ID, "the signal is part of the name")
	require.NotEqual(f.t, second[0].Dataset, second[1].Dataset, "logs and traces have a dataset a stream")
	require.NotNil(f.t, first[0].Options)
	require.False(f.t, first[0].Created.IsZero())
	require.Equal(f.t, in(signal.Traces, "a"), second[1].Stream)
	twin := f.logs(other, "a")
	require.NotEqual(f.t, twin.ID, first[1].ID)
	require.NotEqual(f.t, twin.Dataset, first[1].Dataset)
	require.NotEqual(f.t, twin.Database, first[1].Database)
	_, err := f.EnsureStreams(f.ctx, []signal.Stream{{Org: acme, Database: "none", Signal: signal.Logs, Name: "a"}})
	require.ErrorIs(f.t, err, catalog.ErrNoDatabase)
}

func ensureMixed(f *fixture) {
	f.create("d")
	a := signal.Stream{Org: acme, Database: "d", Signal: signal.Logs, Name: "a"}
	for _, b := range []signal.Stream{
		{Org: other, Database: "d", Signal: signal.Logs, Name: "a"},
		{Org: acme, Database: signal.DefaultDatabase, Signal: signal.Logs, Name: "a"},
	} {
		_, err := f.EnsureStreams(f.ctx, []signal.Stream{a, b})
		require.True(f.t, fault.Is(err, fault.Invalid), err)
	}
}

func streamCase(f *fixture) {
	a, b := f.logs(acme, "Nginx"), f.logs(acme, "nginx")
	require.NotEqual(f.t, a.ID, b.ID)
	require.NotEqual(f.t, a.Dataset, b.Dataset)
	require.Equal(f.t, "Nginx", a.Name)
	require.Equal(f.t, "nginx", b.Name)
}

func metricsShare(f *fixture) {
	f.create("d")
	metric := func(database, name string) signal.Stream {
		return signal.Stream{Org: acme, Database: database, Signal: signal.Metrics, Name: name}
	}
	here := f.ensure(metric(signal.DefaultDatabase, "up"), metric(signal.DefaultDatabase, "http_requests_total"))
	there := f.ensure(metric("d", "up"))[0]
	require.NotEqual(f.t, here[0].ID, here[1].ID)
	require.Equal(f.t, here[0].Dataset, here[1].Dataset)
	require.NotEqual(f.t, here[0].Dataset, there.Dataset)
	_, err := f.AlterStream(f.ctx, metric("d", "up"), map[string]*string{"retention": new("1d")})
	require.NoError(f.t, err)
	_, err = f.AlterDatabase(f.ctx, acme, "d", map[string]*string{"retention": new("9d")})
	require.NoError(f.t, err)
	f.publish("n", f.start(), there, 0, 1)
	list, err := f.Datasets(f.ctx, acme)
	require.NoError(f.t, err)
	require.Equal(f.t, []catalog.Dataset{{
		ID: there.Dataset, Org: acme, Database: "d", Signal: signal.Metrics, Name: "", Version: 1,
		Options: map[string]string{"retention": "9d"},
	}}, list, "a shared dataset has no name and no stream's options")
}

func listStreams(f *fixture) {
	for _, database := range []string{"b", "B"} {
		f.create(database)
		for _, kind := range []signal.Signal{signal.Traces, signal.Logs} {
			for _, name := range []string{"z", "Z", "é", "a"} {
				f.ensure(signal.Stream{Org: acme, Database: database, Signal: kind, Name: name})
			}
		}
	}
	f.logs(other, "a")
	list, err := f.Streams(f.ctx, acme)
	require.NoError(f.t, err)
	var got []string
	for _, s := range list {
		require.Equal(f.t, acme, s.Org)
		require.Equal(f.t, s, f.ensure(s.Stream)[0])
		got = append(got, fmt.Sprintf("%s %s %s", s.Stream.Database, s.Signal, s.Name))
	}
	require.Equal(f.t, []string{
		"B logs Z", "B logs a", "B logs z", "B logs é", "B traces Z", "B traces a", "B traces z", "B traces é",
		"b logs Z", "b logs a", "b logs z", "b logs é", "b traces Z", "b traces a", "b traces z", "b traces é",
	}, got)
}

func streamOptions(f *fixture) {
	s := f.both()
	_, err := f.AlterStream(f.ctx, signal.Stream{Org: acme, Database: signal.DefaultDatabase, Signal: signal.Traces, Name: "s"}, nil)
	require.ErrorIs(f.t, err, catalog.ErrNoStream)
	_, err = f.AlterStream(f.ctx, signal.Stream{Org: acme, Database: "none", Signal: signal.Logs, Name: "s"}, nil)
	require.ErrorIs(f.t, err, catalog.ErrNoStream)
	_, err = f.AlterStream(f.ctx, s[0].Stream, map[string]*string{"retention": new("30d"), "x": new("'%\"")})
	require.NoError(f.t, err)
	got, err := f.AlterStream(f.ctx, s[0].Stream, map[string]*string{"x": nil, "y": new("1")})
	require.NoError(f.t, err)
	want := map[string]string{"retention": "30d", "y": "1"}
	require.True(f.t, maps.Equal(want, got.Options), got.Options)
	require.Equal(f.t, got, f.ensure(s[0].Stream)[0])
	require.Empty(f.t, f.ensure(s[1].Stream)[0].Options)

	_, err = f.AlterDatabase(f.ctx, acme, signal.DefaultDatabase, map[string]*string{"retention": new("1d"), "rate": new("5")})
	require.NoError(f.t, err)
	f.publish("n", f.start(), s[0], 0, 1)
	list, err := f.Datasets(f.ctx, acme)
	require.NoError(f.t, err)
	require.Len(f.t, list, 1)
	require.Equal(f.t, map[string]string{"retention": "30d", "y": "1", "rate": "5"}, list[0].Options, "the stream's before the database's")
}

func manyStreams(f *fixture) {
	const n = 3000
	wanted := make([]signal.Stream, n)
	for i := range wanted {
		wanted[i] = signal.Stream{Org: acme, Database: signal.DefaultDatabase, Signal: signal.Metrics, Name: fmt.Sprintf("m%d", (i*7)%n)}
	}
	made := f.ensure(wanted...)
	require.Equal(f.t, made, f.ensure(wanted...))
	seen := make(map[catalog.StreamID]bool)
	for i, s := range made {
		require.Equal(f.t, wanted[i], s.Stream)
		seen[s.ID] = true
	}
	require.Len(f.t, seen, n)
}
