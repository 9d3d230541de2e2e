package catalogtest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/signal"
)

func raceCases() []testCase {
	return []testCase{
		{"16 committers of one dataset", raceCommitters},
		{"one range, many commits", raceOneRange},
		{"two epochs of a node", raceFence},
		{"replace against replace, commit and expire", raceReplace},
		{"rounds over the same datasets in different orders", raceOrders},
		{"a snapshot never sees a segment without its sequence", raceSnapshot},
		{"streams get one id", raceStreams},
		{"streams keep to a limit", raceLimit},
		{"columns get one id and name", raceColumns},
		{"drop against commit", raceDrop},
	}
}

// raceCommitters: writers of different nodes never get in each other's way, and the outcome is as if they came one by one.
func raceCommitters(f *fixture) {
	const writers, rounds = 16, 4
	s := f.both()
	together(writers, func(i int) {
		node := fmt.Sprintf("n%d", i)
		w, err := f.StartWriter(f.ctx, node, "")
		if err != nil {
			f.t.Error(err)
			return
		}
		for r := range uint64(rounds) {
			segments, err := newSegments(f.ctx, f.Catalog, s[i%2], 1)
			if err != nil {
				f.t.Error(err)
				return
			}
			part := catalog.DatasetCommit{Dataset: s[i%2].Dataset, From: r, To: r + 1, Segments: segments}
			results, err := f.Commit(f.ctx, catalog.Commit{Node: node, Epoch: w.Epoch, Datasets: []catalog.DatasetCommit{part}})
			if err != nil || results[0] != (catalog.CommitResult{Outcome: catalog.Committed, Current: r + 1}) {
				f.t.Errorf("%s round %d: %v %v", node, r, results, err)
				return
			}
		}
	})
	for i := range s {
		require.Len(f.t, f.live(s[i]), writers*rounds/2)
		require.EqualValues(f.t, writers*rounds/2, f.version(s[i]), "each commit raises the version by one")
		require.Len(f.t, f.snapshot(s[i]).Committed[s[i].Dataset], writers/2)
	}
}

// raceOneRange: of several commits of one range, with files of their own, one is published.
func raceOneRange(f *fixture) {
	const n = 8
	s := f.both()
	epoch := f.start()
	var published atomic.Int64
	parts := make([]catalog.DatasetCommit, n)
	for i := range parts {
		parts[i] = f.part(s[0], 0, 5)
	}
	together(n, func(i int) {
		results, err := f.Commit(f.ctx, catalog.Commit{Node: "n", Epoch: epoch, Datasets: parts[i : i+1]})
		switch {
		case err != nil:
			f.t.Error(err)
		case results[0].Outcome == catalog.Committed:
			published.Add(1)
		case results[0] != catalog.CommitResult{Outcome: catalog.Repeated, Current: 5}:
			f.t.Errorf("got %v", results[0])
		}
	})
	require.EqualValues(f.t, 1, published.Load())
	require.Len(f.t, f.live(s[0]), 1)
}

// raceFence: once the later epoch has committed the older one never does.
func raceFence(f *fixture) {
	s := f.both()
	old, later := f.start(), f.start()
	var fenced atomic.Bool
	together(2, func(i int) {
		epoch := []int64{old, later}[i]
		for r := range uint64(10) {
			before := fenced.Load()
			segments, err := newSegments(f.ctx, f.Catalog, s[0], 1)
			if err != nil {
				f.t.Error(err)
				return
			}
			part := catalog.DatasetCommit{Dataset: s[0].Dataset, From: r, To: r + 1, Segments: segments}
			results, err := f.Commit(f.ctx, catalog.Commit{Node: "n", Epoch: epoch, Datasets: []catalog.DatasetCommit{part}})
			if err != nil {
				f.t.Error(err)
				return
			}
			if i == 1 {
				fenced.Store(true)
			} else if got := results[0].Outcome; got != catalog.Committed || before {
				if got != catalog.Fenced {
					f.t.Errorf("epoch %d after a later one: %v", epoch, results[0])
				}
				return
			}
		}
	})
	snap := f.snapshot(s[0])
	var rows uint64
	for _, sequence := range snap.Committed[s[0].Dataset] {
		rows += sequence
	}
	require.Len(f.t, snap.Segments, int(rows))
}

// raceOrders: rounds that name the same datasets in different orders all succeed (no deadlock reaches the caller).
func raceOrders(f *fixture) {
	const writers, datasets, rounds = 8, 6, 5
	streams := make([]catalog.Stream, datasets)
	for i := range streams {
		streams[i] = f.logs(acme, fmt.Sprintf("s%d", i))
		f.reserve(streams[i], "a", "b")
	}
	together(writers, func(i int) {
		node := fmt.Sprintf("n%d", i)
		w, err := f.StartWriter(f.ctx, node, "")
		if err != nil {
			f.t.Error(err)
			return
		}
		for r := range uint64(rounds) {
			var parts []catalog.DatasetCommit
			for k := range datasets {
				s := streams[(k*(1+4*(i%2))+i)%datasets] // ascending or descending, from another start each
				parts = append(parts, catalog.DatasetCommit{
					Dataset: s.Dataset, From: r, To: r + 1,
					Columns: []catalog.PublishedColumns{{Stream: s.ID, Columns: map[catalog.ColumnID]signal.TypeSet{1: 1 << (r + 1), 2: 2}}},
				})
			}
			results, err := f.Commit(f.ctx, catalog.Commit{Node: node, Epoch: w.Epoch, Datasets: parts})
			if err != nil {
				f.t.Error(err)
				return
			}
			for _, got := range results {
				if got.Outcome != catalog.Committed {
					f.t.Errorf("%s round %d: %v", node, r, got)
				}
			}
		}
	})
	for _, columns := range f.snapshot(streams...).Columns {
		require.Equal(f.t, signal.TypeSet(62), columns[0].Types, "types of all rounds are joined")
	}
}

// raceSnapshot: each commit brings one segment whose Rows is the end of its range. In every snapshot the greatest Rows of a writer
// is its committed sequence, and no segment is missing below it.
func raceSnapshot(f *fixture) {
	const writers, rounds = 4, 12
	s := f.both()
	var running atomic.Int64
	running.Store(writers)
	together(writers+2, func(i int) {
		if i < writers {
			defer running.Add(-1)
			commitNumbered(f, s[i%2], int64(i), rounds)
			return
		}
		for last := false; !last && !f.t.Failed(); {
			last = running.Load() == 0
			checkNumbered(f, s)
		}
	})
	require.Len(f.t, f.live(s[0], s[1]), writers*rounds)
}

func commitNumbered(f *fixture, s catalog.Stream, writer int64, rounds uint64) {
	node := fmt.Sprintf("n%d", writer)
	for r := range rounds {
		segments, err := newSegments(f.ctx, f.Catalog, s, 1)
		if err != nil {
			f.t.Error(err)
			return
		}
		segments[0].Rows, segments[0].Bytes = int64(r+1), writer
		part := catalog.DatasetCommit{Dataset: s.Dataset, From: r, To: r + 1, Segments: segments}
		if _, err := f.Commit(f.ctx, catalog.Commit{Node: node, Epoch: 1, Datasets: []catalog.DatasetCommit{part}}); err != nil {
			f.t.Error(err)
			return
		}
	}
}

func checkNumbered(f *fixture, s [2]catalog.Stream) {
	snap, err := f.Snapshot(f.ctx, all(s[0], s[1]))
	if err != nil {
		f.t.Error(err)
		return
	}
	greatest, count := make(map[string]int64), make(map[string]int64)
	for _, g := range snap.Segments {
		node := fmt.Sprintf("n%d", g.Bytes)
		greatest[node] = max(greatest[node], g.Rows)
		count[node]++
	}
	var total int64
	for _, writers := range snap.Committed {
		for w, sequence := range writers {
			if int64(sequence) != greatest[w.Node] || int64(sequence) != count[w.Node] {
				f.t.Errorf("%s: committed %d, greatest %d, segments %d", w.Node, sequence, greatest[w.Node], count[w.Node])
			}
			total += int64(sequence)
		}
	}
	if versions := snap.Versions[s[0].Dataset] + snap.Versions[s[1].Dataset]; versions != total || len(snap.Segments) != int(total) {
		f.t.Errorf("committed %d, versions %d, segments %d", total, versions, len(snap.Segments))
	}
}

// raceStreams: 20 callers that register overlapping streams at once, in different orders, get the same ids.
func raceStreams(f *fixture) {
	const callers, names = 20, 12
	var (
		mu   sync.Mutex
		seen = make(map[signal.Stream]map[catalog.StreamID]bool)
	)
	together(callers, func(i int) {
		var wanted []signal.Stream
		for k := range names {
			kind := []signal.Signal{signal.Logs, signal.Metrics}[k%2]
			name := fmt.Sprintf("s%d", (k*5+i)%names)
			wanted = append(wanted, signal.Stream{Org: acme, Database: signal.DefaultDatabase, Signal: kind, Name: name})
		}
		out, err := f.EnsureStreams(f.ctx, wanted)
		if err != nil {
			f.t.Error(err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for k, s := range out {
			if seen[wanted[k]] == nil {
				seen[wanted[k]] = make(map[catalog.StreamID]bool)
			}
			seen[wanted[k]][s.ID] = true
		}
	})
	for name, ids := range seen {
		require.Len(f.t, ids, 1, "%s", name)
	}
	list, err := f.Streams(f.ctx, acme)
	require.NoError(f.t, err)
	require.Len(f.t, list, len(seen))
}

// raceLimit: callers that each register streams of their own, in two databases, never have more together than the limit, and as many as
// fit. Streams that exist are found by everybody, and another org's do not count.
func raceLimit(f *fixture) {
	const callers, limit = 16, 7
	f.create("d")
	f.logs(other, "a")
	there := signal.Stream{Org: acme, Database: signal.DefaultDatabase, Signal: signal.Logs, Name: "there"}
	_, err := f.EnsureStreamsWithin(f.ctx, []signal.Stream{there}, limit)
	require.NoError(f.t, err)
	var made, refused atomic.Int64
	together(callers, func(i int) {
		for k := range 3 {
			database := []string{signal.DefaultDatabase, "d"}[i%2]
			s := signal.Stream{Org: acme, Database: database, Signal: signal.Metrics, Name: fmt.Sprintf("s%d.%d", i, k)}
			switch _, err := f.EnsureStreamsWithin(f.ctx, []signal.Stream{s}, limit); {
			case err == nil:
				made.Add(1)
			case errors.Is(err, catalog.ErrTooManyStreams):
				refused.Add(1)
			default:
				f.t.Error(err)
			}
		}
		if _, err := f.EnsureStreamsWithin(f.ctx, []signal.Stream{there}, 1); err != nil {
			f.t.Error(err)
		}
	})
	require.Equal(f.t, int64(limit-1), made.Load())
	require.Equal(f.t, int64(3*callers-limit+1), refused.Load())
	list, err := f.Streams(f.ctx, acme)
	require.NoError(f.t, err)
	require.Len(f.t, list, limit)
	two := []signal.Stream{
		{Org: acme, Database: "d", Signal: signal.Logs, Name: "x"}, {Org: acme, Database: "d", Signal: signal.Logs, Name: "y"},
	}
	_, err = f.EnsureStreamsWithin(f.ctx, two, limit+1)
	require.ErrorIs(f.t, err, catalog.ErrTooManyStreams, "all or none")
	_, err = f.EnsureStreamsWithin(f.ctx, two, limit+2)
	require.NoError(f.t, err)
}

// raceColumns: callers that reserve names differing in case at once agree on ids and physical names.
func raceColumns(f *fixture) {
	s := f.both()
	names := []string{"user", "User", "USER", "uSer", "x"}
	together(12, func(i int) {
		k := i % len(names)
		if _, err := f.ReserveColumns(f.ctx, s[0].ID, append(slices.Clone(names[k:]), names[:k]...)); err != nil {
			f.t.Error(err)
		}
	})
	columns := f.reserve(s[0], names...)
	require.Len(f.t, columns, len(names))
	for i, c := range columns {
		require.EqualValues(f.t, i+1, c.ID)
	}
	require.Len(f.t, slices.Compact(sorted(physical(columns))), len(names))
}

// raceDrop: a commit that races with the drop of its database is either retired with it or answered Gone.
func raceDrop(f *fixture) {
	const attempts = 6
	epoch := f.start()
	for n := range attempts {
		name := fmt.Sprintf("d%d", n)
		f.create(name)
		s := f.ensure(signal.Stream{Org: acme, Database: name, Signal: signal.Logs, Name: "s"})[0]
		f.reserve(s, "a")
		part := f.part(s, 0, 1)
		part.Columns = []catalog.PublishedColumns{{Stream: s.ID, Columns: map[catalog.ColumnID]signal.TypeSet{1: 2}}}
		var outcome catalog.Outcome
		together(3, func(i int) {
			switch i {
			case 0:
				if err := f.DropDatabase(f.ctx, acme, name); err != nil {
					f.t.Error(err)
				}
			case 1:
				results, err := f.Commit(f.ctx, catalog.Commit{Node: "n", Epoch: epoch, Datasets: []catalog.DatasetCommit{part}})
				if err != nil {
					f.t.Error(err)
					return
				}
				outcome = results[0].Outcome
			default:
				if _, err := f.ReserveColumns(f.ctx, s.ID, []string{"b"}); err != nil && !errors.Is(err, catalog.ErrNoStream) {
					f.t.Error(err)
				}
			}
		})
		require.Empty(f.t, f.live(s))
		known, err := f.KnownObjects(f.ctx, []string{part.Segments[0].Key})
		require.NoError(f.t, err)
		require.Equal(f.t, outcome == catalog.Committed, known[part.Segments[0].Key], "outcome %d", outcome)
	}
}
