package catalogtest

import (
	"errors"
	"slices"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
)

// raceReplace: segments carry a numbered row each; whatever wins, each row is in exactly one live segment or was expired with it.
func raceReplace(f *fixture) {
	const rows, compactors = 24, 4
	s := f.both()
	epoch := f.start()
	rowsOf := newLedger()
	for i := range uint64(rows) {
		p := f.publish("n", epoch, s[0], i, i+1)
		rowsOf.set(p.Segments[0].ID, []uint64{i})
	}
	together(compactors+1, func(i int) {
		if i == compactors {
			commitMore(f, s[0], epoch, rows, rowsOf)
			return
		}
		for range 6 {
			compactOnce(f, s[0], i, rowsOf)
		}
	})
	var got []uint64
	for _, id := range f.live(s[0]) {
		got = append(got, rowsOf.get(id)...)
	}
	slices.Sort(got)
	want := make([]uint64, rows+6)
	for i := range want {
		want[i] = uint64(i)
	}
	require.Equal(f.t, want, got, "no row is lost and none doubled")
}

func commitMore(f *fixture, s catalog.Stream, epoch int64, from uint64, rowsOf *ledger) {
	for r := from; r < from+6; r++ {
		segments, err := newSegments(f.ctx, f.Catalog, s, 1)
		if err != nil {
			f.t.Error(err)
			return
		}
		rowsOf.set(segments[0].ID, []uint64{r})
		part := catalog.DatasetCommit{Dataset: s.Dataset, From: r, To: r + 1, Segments: segments}
		results, err := f.Commit(f.ctx, catalog.Commit{Node: "n", Epoch: epoch, Datasets: []catalog.DatasetCommit{part}})
		if err != nil || results[0].Outcome != catalog.Committed {
			f.t.Errorf("commit row %d: %v %v", r, results, err)
		}
	}
}

// compactOnce merges two live segments and repeats the call, as after an unknown outcome.
func compactOnce(f *fixture, s catalog.Stream, worker int, rowsOf *ledger) {
	snap, err := f.Snapshot(f.ctx, all(s))
	if err != nil || len(snap.Segments) < 2 {
		f.t.Errorf("plan: %d segments, %v", len(snap.Segments), err)
		return
	}
	at := worker % (len(snap.Segments) - 1)
	old := ids(snap.Segments[at : at+2])
	merged, err := newSegments(f.ctx, f.Catalog, s, 1)
	if err != nil {
		f.t.Error(err)
		return
	}
	rowsOf.set(merged[0].ID, append(rowsOf.get(old[0]), rowsOf.get(old[1])...))
	err = f.Replace(f.ctx, s.Dataset, old, merged)
	if err != nil && !errors.Is(err, catalog.ErrConflict) {
		f.t.Error(err)
	}
	if again := f.Replace(f.ctx, s.Dataset, old, merged); (err == nil) != (again == nil) {
		f.t.Errorf("the repeat says %v, the call %v", again, err)
	}
}

// ledger tells which rows a segment holds.
type ledger struct {
	mu struct {
		sync.Mutex
		rows map[catalog.SegmentID][]uint64
	}
}

func newLedger() *ledger {
	l := &ledger{}
	l.mu.rows = make(map[catalog.SegmentID][]uint64)
	return l
}

func (l *ledger) set(id catalog.SegmentID, rows []uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.rows[id] = rows
}

func (l *ledger) get(id catalog.SegmentID) []uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.mu.rows[id])
}
