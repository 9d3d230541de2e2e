package catalogtest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
)

func segmentCases() []testCase {
	return []testCase{
		{"replace swaps segments in one step", replaceSwaps},
		{"replace refuses sources that are not live", replaceConflict},
		{"a repeated replace succeeds without effect", replaceRepeat},
		{"replace refuses what can never succeed", replaceInvalid},
		{"an index takes the place of the one that is expected", setIndex},
		{"of several who set an index one wins", raceIndex},
		{"expire retires segments before a time", expire},
		{"retired segments are listed until forgotten", retiredForget},
		{"datasets with live segments", datasets},
		{"objects that segments own are known", knownObjects},
	}
}

func replaceSwaps(f *fixture) {
	s := f.both()
	epoch := f.start()
	a, b, c := f.publish("n", epoch, s[0], 0, 1), f.publish("n", epoch, s[0], 1, 2), f.publish("n", epoch, s[0], 2, 3)
	before := f.snapshot(s[0])
	merged := f.segments(s[0], 1)
	old := append(ids(a.Segments), ids(b.Segments)...)
	require.NoError(f.t, f.Replace(f.ctx, s[0].Dataset, append(old, old[0]), merged))
	require.Equal(f.t, append(ids(c.Segments), ids(merged)...), f.live(s[0]))
	after := f.snapshot(s[0])
	require.Equal(f.t, before.Committed, after.Committed, "the committed sequences stay")
	require.Equal(f.t, before.Versions[s[0].Dataset]+1, after.Versions[s[0].Dataset])
	retired := f.retired()
	require.Equal(f.t, old, sorted(ids(retired)))
	require.False(f.t, retired[0].Retired.IsZero())
	f.publish("n", epoch, s[0], 3, 4)
	require.NoError(f.t, f.Replace(f.ctx, s[0].Dataset, ids(merged), nil), "a replacement may be empty")
	require.Len(f.t, f.live(s[0]), 2)
}

func replaceConflict(f *fixture) {
	s := f.both()
	epoch := f.start()
	a, b, foreign := f.publish("n", epoch, s[0], 0, 1), f.publish("n", epoch, s[0], 1, 2), f.publish("n", epoch, s[1], 0, 1)
	first := f.segments(s[0], 1)
	require.NoError(f.t, f.Replace(f.ctx, s[0].Dataset, ids(a.Segments), first))
	live, version := f.live(s[0], s[1]), f.version(s[0])
	for name, old := range map[string][]catalog.SegmentID{
		"retired":            append(ids(b.Segments), a.Segments[0].ID),
		"of another dataset": append(ids(b.Segments), foreign.Segments[0].ID),
		"unknown":            append(ids(b.Segments), 1<<43-1),
		"all retired":        ids(a.Segments),
	} {
		err := f.Replace(f.ctx, s[0].Dataset, old, f.segments(s[0], 1))
		require.ErrorIs(f.t, err, catalog.ErrConflict, name)
		require.ErrorIs(f.t, f.Replace(f.ctx, s[0].Dataset, old, nil), catalog.ErrConflict, name)
		require.Equal(f.t, live, f.live(s[0], s[1]), "%s: it fails as a whole", name)
	}
	require.Equal(f.t, version, f.version(s[0]))
	gone := s[1].Dataset + 1000
	added := f.segments(s[0], 1)
	added[0].Dataset = gone
	require.ErrorIs(f.t, f.Replace(f.ctx, gone, ids(b.Segments), added), catalog.ErrConflict)
}

func replaceRepeat(f *fixture) {
	s := f.both()
	epoch := f.start()
	a, b := f.publish("n", epoch, s[0], 0, 1), f.publish("n", epoch, s[0], 1, 2)
	old := append(ids(a.Segments), ids(b.Segments)...)
	merged := f.segments(s[0], 2)
	require.NoError(f.t, f.Replace(f.ctx, s[0].Dataset, old, merged))
	version := f.version(s[0])
	require.NoError(f.t, f.Replace(f.ctx, s[0].Dataset, old, merged))
	require.Equal(f.t, ids(merged), f.live(s[0]))
	require.Equal(f.t, version, f.version(s[0]))
	next := f.segments(s[0], 1)
	require.NoError(f.t, f.Replace(f.ctx, s[0].Dataset, ids(merged), next))
	require.NoError(f.t, f.Replace(f.ctx, s[0].Dataset, old, merged), "its results were compacted on meanwhile")
	require.Equal(f.t, ids(next), f.live(s[0]))
}

func replaceInvalid(f *fixture) {
	s := f.both()
	epoch := f.start()
	a := f.publish("n", epoch, s[0], 0, 1)
	wrongOrg := f.segments(s[0], 1)
	wrongOrg[0].Org = other
	for name, err := range map[string]error{
		"no source":       f.Replace(f.ctx, s[0].Dataset, nil, f.segments(s[0], 1)),
		"another dataset": f.Replace(f.ctx, s[0].Dataset, ids(a.Segments), f.segments(s[1], 1)),
		"another org":     f.Replace(f.ctx, s[0].Dataset, ids(a.Segments), wrongOrg),
	} {
		require.True(f.t, fault.Is(err, fault.Invalid), "%s: %v", name, err)
	}
	require.Equal(f.t, ids(a.Segments), f.live(s[0]))
}

func expire(f *fixture) {
	s := f.both()
	epoch := f.start()
	parts := [2]catalog.DatasetCommit{f.part(s[0], 0, 1), f.part(s[1], 0, 1)}
	for i := range parts {
		parts[i].Segments = f.segments(s[i], 3)
		for k, max := range []int64{-5, 100, 101} {
			parts[i].Segments[k].MinTime, parts[i].Segments[k].MaxTime = -10, max
		}
	}
	f.commit("n", epoch, parts[:]...)
	at := func(micros, nanos int64) time.Time { return time.UnixMicro(micros).Add(time.Duration(nanos)) }
	retire := func(before time.Time) int {
		n, err := f.Expire(f.ctx, s[0].Dataset, before)
		require.NoError(f.t, err)
		return n
	}
	version := f.version(s[0])
	require.Zero(f.t, retire(at(-5, 999)), "a row may lie up to a microsecond after MaxTime")
	require.Equal(f.t, version, f.version(s[0]), "nothing changed")
	require.Equal(f.t, 1, retire(at(-4, 0)))
	require.Zero(f.t, retire(at(100, 0)), "a row at the time itself is kept")
	require.Equal(f.t, 1, retire(at(101, 0)))
	require.Equal(f.t, version+2, f.version(s[0]))
	require.Equal(f.t, ids(parts[0].Segments[2:]), f.live(s[0]))
	require.Equal(f.t, ids(parts[1].Segments), f.live(s[1]))
	require.Equal(f.t, ids(parts[0].Segments[:2]), sorted(ids(f.retired())))
	require.Equal(f.t, 1, retire(at(1<<50, 0)))
	require.Zero(f.t, retire(at(1<<50, 0)))
}

func retiredForget(f *fixture) {
	s := f.both()
	epoch := f.start()
	var want []catalog.SegmentID
	for i := range uint64(4) {
		p := f.publish("n", epoch, s[i%2], i/2, i/2+1)
		_, err := f.Expire(f.ctx, s[i%2].Dataset, time.UnixMicro(1<<50))
		require.NoError(f.t, err)
		want = append(want, p.Segments[0].ID)
	}
	kept := f.publish("n", epoch, s[0], 2, 3)
	got := f.retired()
	require.Equal(f.t, want, ids(got), "the oldest first")
	for i := 1; i < len(got); i++ {
		require.False(f.t, got[i].Retired.Before(got[i-1].Retired))
	}
	require.Equal(f.t, "xxh64:ff", got[0].Checksum)
	first, err := f.Retired(f.ctx, got[3].Retired, 2)
	require.NoError(f.t, err)
	require.Equal(f.t, want[:2], ids(first), "up to limit")
	first, err = f.Retired(f.ctx, got[0].Retired, 100)
	require.NoError(f.t, err)
	require.Contains(f.t, ids(first), want[0], "the time is inclusive")
	first, err = f.Retired(f.ctx, got[0].Retired.Add(-time.Microsecond), 100)
	require.NoError(f.t, err)
	require.Empty(f.t, first)

	for range 2 {
		require.NoError(f.t, f.Forget(f.ctx, []catalog.SegmentID{want[0], want[2], kept.Segments[0].ID, 1<<43 - 1}))
		require.Equal(f.t, []catalog.SegmentID{want[1], want[3]}, ids(f.retired()))
		require.Equal(f.t, ids(kept.Segments), f.live(s[0]), "a live one is never touched")
	}
	require.NoError(f.t, f.Forget(f.ctx, nil))
}

func datasets(f *fixture) {
	s := f.both()
	f.logs(acme, "without segments")
	epoch := f.start()
	f.publish("n", epoch, s[0], 0, 1)
	f.publish("n", epoch, s[1], 0, 1)
	list := func(query func() ([]catalog.Dataset, error)) (out []catalog.DatasetID) {
		sets, err := query()
		require.NoError(f.t, err)
		for _, d := range sets {
			require.NotNil(f.t, d.Options)
			require.Equal(f.t, "s", d.Name)
			require.Equal(f.t, f.version(catalog.Stream{Dataset: d.ID}), d.Version)
			out = append(out, d.ID)
		}
		return out
	}
	require.Equal(f.t, []catalog.DatasetID{s[0].Dataset}, list(func() ([]catalog.Dataset, error) { return f.Datasets(f.ctx, acme) }))
	everyOrg := func() ([]catalog.Dataset, error) { return f.Datasets(f.ctx, "") }
	require.ElementsMatch(f.t, []catalog.DatasetID{s[0].Dataset, s[1].Dataset}, list(everyOrg))
	_, err := f.Expire(f.ctx, s[0].Dataset, time.UnixMicro(1<<50))
	require.NoError(f.t, err)
	require.Equal(f.t, []catalog.DatasetID{s[1].Dataset}, list(everyOrg))
}

func knownObjects(f *fixture) {
	s := f.both()
	epoch := f.start()
	live, old, gone := f.publish("n", epoch, s[0], 0, 1), f.part(s[1], 0, 1), f.publish("n", epoch, s[0], 1, 2)
	old.Segments[0].IndexKey = ""
	f.commit("n", epoch, old)
	require.NoError(f.t, f.Replace(f.ctx, s[1].Dataset, ids(old.Segments), nil))
	require.NoError(f.t, f.Replace(f.ctx, s[0].Dataset, ids(gone.Segments), nil))
	require.NoError(f.t, f.Forget(f.ctx, ids(gone.Segments)))
	keys := []string{
		live.Segments[0].Key, live.Segments[0].IndexKey, old.Segments[0].Key, gone.Segments[0].Key, "", "a'b%", "nul\x00", "bad\xff",
		live.Segments[0].Key,
	}
	for i := range 10_000 {
		keys = append(keys, fmt.Sprintf("acme/data/none-%d.parquet", i))
	}
	got, err := f.KnownObjects(f.ctx, keys)
	require.NoError(f.t, err)
	require.Equal(f.t, map[string]bool{live.Segments[0].Key: true, live.Segments[0].IndexKey: true, old.Segments[0].Key: true}, got)
	got, err = f.KnownObjects(f.ctx, nil)
	require.NoError(f.t, err)
	require.Empty(f.t, got)
}
