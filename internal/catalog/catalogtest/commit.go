package catalogtest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
)

func commitCases() []testCase {
	return []testCase{
		{"a commit makes its segments visible", commitVisible},
		{"committed, repeated, stale, fenced and gone in one round", commitMixed},
		{"the fence is by node, epoch and dataset", commitFence},
		{"an older epoch goes on where no later one has committed", commitReplayed},
		{"a range without rows moves the sequence", commitEmptyRange},
		{"a repeat has no effect", commitRepeat},
		{"what can never succeed is refused", commitInvalid},
		{"a segment number in use fails the round", commitUsedNumber},
		{"200 datasets in one round", commitWide},
	}
}

func commitVisible(f *fixture) {
	s := f.both()
	epoch := f.start()
	require.EqualValues(f.t, 0, f.version(s[0]))
	part := catalog.DatasetCommit{Dataset: s[0].Dataset, From: 0, To: 1<<63 - 1, Segments: f.segments(s[0], 2)}
	require.Equal(f.t, []catalog.CommitResult{{Outcome: catalog.Committed, Current: 1<<63 - 1}}, f.commit("n", epoch, part))
	snap := f.snapshot(s[0], s[1])
	require.Len(f.t, snap.Segments, 2)
	for i, got := range snap.Segments {
		require.False(f.t, got.Created.IsZero())
		require.True(f.t, got.Retired.IsZero())
		want := part.Segments[i]
		want.Created = got.Created
		require.Equal(f.t, want, got, "every field comes back, bounds byte for byte")
	}
	writer := catalog.WriterKey{Node: "n", Epoch: epoch}
	require.Equal(f.t, map[catalog.DatasetID]map[catalog.WriterKey]uint64{s[0].Dataset: {writer: 1<<63 - 1}}, snap.Committed)
	require.Equal(f.t, map[catalog.DatasetID]int64{s[0].Dataset: 1, s[1].Dataset: 0}, snap.Versions)
	sequences, err := f.Committed(f.ctx, "n", epoch)
	require.NoError(f.t, err)
	require.Equal(f.t, map[catalog.DatasetID]uint64{s[0].Dataset: 1<<63 - 1}, sequences)
	sequences, err = f.Committed(f.ctx, "n", epoch+1)
	require.NoError(f.t, err)
	require.Empty(f.t, sequences)
}

func commitMixed(f *fixture) {
	ok, repeated, stale, fenced := f.logs(acme, "ok"), f.logs(acme, "repeated"), f.logs(acme, "stale"), f.logs(acme, "fenced")
	old, later := f.start(), f.start()
	again := f.publish("n", old, repeated, 0, 4)
	f.publish("n", old, stale, 0, 4)
	f.publish("n", old, fenced, 0, 3)
	f.publish("n", later, fenced, 0, 2)
	before := f.live(repeated, stale, fenced)

	good := f.part(ok, 0, 9)
	missing := catalog.DatasetCommit{Dataset: fenced.Dataset + 1000, From: 0, To: 1}
	results := f.commit("n", old, missing, f.part(fenced, 3, 4), again, f.part(stale, 0, 8), good)
	require.Equal(f.t, []catalog.CommitResult{
		{Outcome: catalog.Gone},
		{Outcome: catalog.Fenced, Current: 3},
		{Outcome: catalog.Repeated, Current: 4},
		{Outcome: catalog.Stale, Current: 4},
		{Outcome: catalog.Committed, Current: 9},
	}, results)
	require.Equal(f.t, before, f.live(repeated, stale, fenced), "a refused part leaves no trace")
	require.Equal(f.t, ids(good.Segments), f.live(ok))
	require.EqualValues(f.t, 1, f.version(repeated))
	require.EqualValues(f.t, 1, f.version(stale))
	require.EqualValues(f.t, 2, f.version(fenced))
}

func commitFence(f *fixture) {
	s := f.both()
	old, later := f.start(), f.start()
	f.publish("n", old, s[0], 0, 1)
	f.publish("n", later, s[0], 0, 1)
	require.Equal(f.t, catalog.Fenced, f.commit("n", old, f.part(s[0], 1, 2))[0].Outcome)
	f.publish("n", old, s[1], 0, 1) // no later epoch has committed to this dataset
	f.publish("m", old, s[0], 0, 1) // another node is not fenced by this one
	f.publish("N", old, s[0], 0, 1) // nor is one whose name differs in case
	f.publish("n", later, s[0], 1, 2)
}

func commitReplayed(f *fixture) {
	s := f.logs(acme, "s")
	old := f.start()
	f.publish("n", old, s, 0, 5)
	later := f.start()
	f.publish("n", old, s, 5, 8) // replayed rows keep their epoch and sequence
	f.publish("n", later, s, 0, 1)
	snap := f.snapshot(s)
	require.Equal(f.t, map[catalog.WriterKey]uint64{{Node: "n", Epoch: old}: 8, {Node: "n", Epoch: later}: 1}, snap.Committed[s.Dataset])
}

func commitEmptyRange(f *fixture) {
	s := f.both()
	epoch := f.start()
	require.Equal(f.t, catalog.Committed, f.commit("n", epoch, catalog.DatasetCommit{Dataset: s[0].Dataset, From: 0, To: 3})[0].Outcome)
	require.Empty(f.t, f.live(s[0]))
	require.EqualValues(f.t, 3, f.snapshot(s[0]).Committed[s[0].Dataset][catalog.WriterKey{Node: "n", Epoch: epoch}])
	f.publish("n", epoch, s[0], 3, 4)
	require.Empty(f.t, f.commit("n", epoch), "a round without parts does nothing")
}

func commitRepeat(f *fixture) {
	s := f.both()
	epoch := f.start()
	p := f.publish("n", epoch, s[0], 0, 5)
	for range 3 {
		require.Equal(f.t, []catalog.CommitResult{{Outcome: catalog.Repeated, Current: 5}}, f.commit("n", epoch, p))
	}
	recut := f.part(s[0], 2, 5)
	require.Equal(f.t, catalog.Repeated, f.commit("n", epoch, recut)[0].Outcome, "what counts is the end of the range")
	require.Equal(f.t, ids(p.Segments), f.live(s[0]))
	require.EqualValues(f.t, 1, f.version(s[0]))
	require.Equal(f.t, catalog.Stale, f.commit("n", epoch, f.part(s[0], 0, 4))[0].Outcome)
	require.Equal(f.t, catalog.Stale, f.commit("n", epoch, f.part(s[0], 3, 6))[0].Outcome)
	require.Equal(f.t, catalog.Stale, f.commit("n", epoch, f.part(s[0], 6, 7))[0].Outcome)
}

func commitInvalid(f *fixture) {
	s := f.both()
	epoch := f.start()
	edit := func(change func(p *catalog.DatasetCommit)) []catalog.DatasetCommit {
		p := f.part(s[0], 0, 1)
		change(&p)
		return []catalog.DatasetCommit{p}
	}
	for name, parts := range map[string][]catalog.DatasetCommit{
		"a dataset twice":              {f.part(s[0], 0, 1), f.part(s[0], 1, 2)},
		"an empty range":               edit(func(p *catalog.DatasetCommit) { p.To = 0 }),
		"a sequence beyond int64":      edit(func(p *catalog.DatasetCommit) { p.To = 1 << 63 }),
		"a segment of another dataset": edit(func(p *catalog.DatasetCommit) { p.Segments[0].Dataset = s[1].Dataset }),
		"a segment of another org":     edit(func(p *catalog.DatasetCommit) { p.Segments[0].Org = other }),
		"a segment without a number":   edit(func(p *catalog.DatasetCommit) { p.Segments[0].ID = 0 }),
		"a segment number too great":   edit(func(p *catalog.DatasetCommit) { p.Segments[0].ID = 1 << 43 }),
		"a segment without a key":      edit(func(p *catalog.DatasetCommit) { p.Segments[0].Key = "" }),
		"a segment of no time":         edit(func(p *catalog.DatasetCommit) { p.Segments[0].MaxTime = p.Segments[0].MinTime - 1 }),
	} {
		_, err := f.Commit(f.ctx, catalog.Commit{Node: "n", Epoch: epoch, Datasets: parts})
		require.True(f.t, fault.Is(err, fault.Invalid), "%s: %v", name, err)
	}
	require.Empty(f.t, f.live(s[0], s[1]))
}

func commitUsedNumber(f *fixture) {
	s := f.both()
	epoch := f.start()
	first := f.publish("n", epoch, s[0], 0, 1)
	number, key := f.part(s[1], 0, 1), f.part(s[1], 0, 1)
	number.Segments[0].ID = first.Segments[0].ID
	key.Segments[0].Key = first.Segments[0].Key
	for _, p := range []catalog.DatasetCommit{number, key} {
		_, err := f.Commit(f.ctx, catalog.Commit{Node: "n", Epoch: epoch, Datasets: []catalog.DatasetCommit{f.part(s[0], 1, 2), p}})
		require.True(f.t, fault.Is(err, fault.Conflict), err)
	}
	require.Equal(f.t, ids(first.Segments), f.live(s[0], s[1]))
	f.publish("n", epoch, s[0], 1, 2)
}

func commitWide(f *fixture) {
	const n = 200
	epoch := f.start()
	var streams []catalog.Stream
	var parts []catalog.DatasetCommit
	for i := range n {
		s := f.logs(acme, fmt.Sprintf("s%d", n-i))
		streams = append(streams, s)
		p := f.part(s, 0, uint64(i+1))
		columns := f.reserve(s, "a", "b", "c")
		p.Columns = []catalog.PublishedColumns{{Stream: s.ID, Columns: published(columns, 1<<4)}}
		parts = append(parts, p)
	}
	for _, outcome := range []catalog.Outcome{catalog.Committed, catalog.Repeated} {
		for i, r := range f.commit("n", epoch, parts...) {
			require.Equal(f.t, catalog.CommitResult{Outcome: outcome, Current: uint64(i + 1)}, r)
		}
	}
	require.Len(f.t, f.live(streams...), n)
	for _, columns := range f.snapshot(streams...).Columns {
		require.Len(f.t, columns, 3)
		require.EqualValues(f.t, 1<<4, columns[2].Types)
	}
}
