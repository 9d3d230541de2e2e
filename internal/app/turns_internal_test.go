package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/router"
)

// TestSplittingTakesAPlace asks a querier without a free place to split: it is busy, as for the query itself.
func TestSplittingTakesAPlace(t *testing.T) {
	t.Parallel()
	g := newGuard(1, localQuerier{}, nil)
	require.NoError(t, g.enter(t.Context()))
	_, err := g.Split(t.Context(), answer.Question{Org: "acme", Statement: "SELECT count(*) FROM web"})
	require.ErrorIs(t, err, router.ErrBusy)
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
}
