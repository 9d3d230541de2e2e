//go:build long

package compactor_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/compactor"
	"github.com/millstream/millstream/internal/signal"
)

// TestTenThousandsOfTinyFiles is case K07 of the public reports with real files: a row for each of 200 streams in each of 200 intervals of
// a minute. The role looks every five minutes and once more when the day is closed.
func TestTenThousandsOfTinyFiles(t *testing.T) {
	const streams, intervals = 200, 200
	p := newPlant(t)
	p.indexed = true
	var list []catalog.Stream
	for i := range streams {
		made, err := p.catalog.EnsureStreams(t.Context(), []signal.Stream{logs("t1", fmt.Sprint("s", i))})
		require.NoError(t, err)
		list = append(list, made[0])
	}
	c := p.compactor(p.catalog)
	look := func() {
		require.NoError(t, c.Compact(t.Context()))
		require.NoError(t, c.Seal(t.Context()))
		require.NoError(t, c.Delete(t.Context()))
	}
	p.clock.Advance(6 * time.Hour)
	most := 0
	for i := range intervals {
		for _, s := range list {
			p.stream, p.seq = s, uint64(i)
			p.flush(p.clock.Now(), i, 1)
		}
		most = max(most, len(p.live()))
		p.clock.Advance(time.Minute)
		if i%5 == 4 {
			look()
		}
	}
	count := func(least int) {
		for _, s := range list {
			p.stream = s
			require.LessOrEqual(t, len(p.requireOnce(intervals)), least)
		}
	}
	for range 4 {
		look()
	}
	t.Logf("at most %d files of a stream, %d objects at the end of the flushes", most, len(p.objects()))
	count(9)
	p.clock.Advance(24 * time.Hour)
	for range 2 {
		look()
	}
	p.clock.Advance(compactor.DefaultDeletionGrace + time.Second)
	look()
	count(1)
	require.Len(t, p.objects(), 2*streams)
}
