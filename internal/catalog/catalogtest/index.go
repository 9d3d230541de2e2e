package catalogtest

import (
	"errors"
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
)

func setIndex(f *fixture) {
	s := f.both()
	epoch := f.start()
	a, b := f.publish("n", epoch, s[0], 0, 1).Segments[0], f.part(s[0], 1, 2)
	b.Segments[0].IndexKey, b.Segments[0].Index = "", 0
	f.commit("n", epoch, b)
	version := f.version(s[0])
	const fresh, again = "acme/index/fresh", "acme/index/again"

	for name, err := range map[string]error{
		"another index is expected": f.SetIndex(f.ctx, a.ID, "acme/index/other", fresh, 5),
		"none is expected":          f.SetIndex(f.ctx, a.ID, "", fresh, 5),
		"one is expected":           f.SetIndex(f.ctx, b.Segments[0].ID, a.IndexKey, fresh, 5),
		"unknown segment":           f.SetIndex(f.ctx, 1<<43-1, "", fresh, 5),
	} {
		require.ErrorIs(f.t, err, catalog.ErrIndexChanged, name)
	}
	for name, err := range map[string]error{
		"no key":    f.SetIndex(f.ctx, a.ID, a.IndexKey, "", 5),
		"the same":  f.SetIndex(f.ctx, a.ID, a.IndexKey, a.IndexKey, 5),
		"no bytes":  f.SetIndex(f.ctx, a.ID, a.IndexKey, fresh, 0),
		"bad bytes": f.SetIndex(f.ctx, a.ID, a.IndexKey, "acme/\xff", 5),
	} {
		require.True(f.t, fault.Is(err, fault.Invalid), "%s: %v", name, err)
	}
	require.Equal(f.t, version, f.version(s[0]), "nothing changed")

	for range 2 {
		require.NoError(f.t, f.SetIndex(f.ctx, a.ID, a.IndexKey, fresh, 5), "a repeat succeeds")
		require.NoError(f.t, f.SetIndex(f.ctx, b.Segments[0].ID, "", again, 6))
		require.Equal(f.t, version+2, f.version(s[0]))
	}
	segments := f.snapshot(s[0]).Segments
	require.Equal(f.t, []any{fresh, int64(5)}, []any{segments[0].IndexKey, segments[0].Index})
	require.Equal(f.t, []any{again, int64(6)}, []any{segments[1].IndexKey, segments[1].Index})
	known, err := f.KnownObjects(f.ctx, []string{a.IndexKey, fresh, again, a.Key})
	require.NoError(f.t, err)
	require.Equal(f.t, map[string]bool{fresh: true, again: true, a.Key: true}, known, "the old object is nobody's")

	require.NoError(f.t, f.Replace(f.ctx, s[0].Dataset, []catalog.SegmentID{a.ID}, nil))
	require.ErrorIs(f.t, f.SetIndex(f.ctx, a.ID, fresh, "acme/index/late", 5), catalog.ErrIndexChanged, "it is retired")
	require.NoError(f.t, f.SetIndex(f.ctx, a.ID, a.IndexKey, fresh, 5), "what succeeded stays so")
	require.Equal(f.t, fresh, f.retired()[0].IndexKey)
}

// raceIndex: several build an index of one segment while others replace and commit; at most one index is the segment's.
func raceIndex(f *fixture) {
	s := f.both()
	epoch := f.start()
	a := f.publish("n", epoch, s[0], 0, 1).Segments[0]
	const builders = 6
	errs := make([]error, builders)
	together(builders+2, func(i int) {
		switch i {
		case builders:
			compactAlone(f, s[0], a.ID)
		case builders + 1:
			commitMore(f, s[0], epoch, 1, newLedger())
		default:
			errs[i] = f.SetIndex(f.ctx, a.ID, a.IndexKey, fmt.Sprintf("acme/index/new-%d", i), 5)
		}
	})
	winners := 0
	for i, err := range errs {
		if err == nil {
			winners++
			require.Equal(f.t, fmt.Sprintf("acme/index/new-%d", i), f.retired()[0].IndexKey)
		} else {
			require.ErrorIs(f.t, err, catalog.ErrIndexChanged)
		}
	}
	require.LessOrEqual(f.t, winners, 1)
}

// compactAlone replaces one segment by a new one.
func compactAlone(f *fixture, s catalog.Stream, old catalog.SegmentID) {
	merged, err := newSegments(f.ctx, f.Catalog, s, 1)
	if err = errors.Join(err, f.Replace(f.ctx, s.Dataset, []catalog.SegmentID{old}, merged)); err != nil {
		f.t.Error(err)
	}
}
