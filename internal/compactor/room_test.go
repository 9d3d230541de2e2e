package compactor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/compactor"
)

// TestANearlyFullDiskIsLeftToTheLog: without room for a merge beside an eighth of the disk nothing is written, and a later round merges.
func TestANearlyFullDiskIsLeftToTheLog(t *testing.T) {
	t.Parallel()
	p := newPlant(t)
	day := p.clock.Now().AddDate(0, 0, -2).Truncate(24 * time.Hour)
	for i := range 10 {
		p.flush(day.Add(time.Duration(i)*time.Minute), 30*i, 30)
	}
	const total = 160 << 20
	free := int64(total / 8)
	c := compactor.New(compactor.Options{StagingDir: p.TempDir()}, compactor.Deps{
		Catalog: p.catalog, Objects: p.store, Files: p, Clock: p.clock, Logger: discard(),
		Space: func(string) (int64, int64, error) { return total, free, nil },
	})
	before := p.objects()
	require.ErrorContains(t, c.Seal(t.Context()), "leave room for the log")
	require.Equal(t, before, p.objects())
	require.Len(t, p.requireOnce(300), 10)
	free = total / 2
	require.NoError(t, c.Seal(t.Context()))
	require.Less(t, len(p.requireOnce(300)), 10)
}
