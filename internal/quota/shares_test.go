package quota_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/quota"
	"github.com/millstream/millstream/internal/tenant"
)

// fillShare takes single bytes for an org until it gets no more and returns how many it holds.
func fillShare(s *quota.Shares, org tenant.ID) int64 {
	for {
		if !s.Try(org, 1) {
			return s.Of(org)
		}
	}
}

func TestWhatFloodsLeaveFree(t *testing.T) {
	t.Parallel()
	s := quota.NewShares(840, clock.System{})
	require.EqualValues(t, 630, fillShare(s, "a"), "one org alone holds three quarters")
	require.EqualValues(t, 158, fillShare(s, "b"), "the next one gets three quarters of the rest")
	require.False(t, s.Try("a", 1))
	require.True(t, s.Try("c", 30), "there is room for a third")
	s.Release("a", 630)
	require.Positive(t, fillShare(s, "b"))
	s.Release("b", s.Of("b"))
	s.Release("c", 30)
	require.Zero(t, s.Used())
	require.True(t, s.Try("a", 5000), "what is larger than all passes when nothing else is held")
	require.False(t, s.Try("b", 1))
}

// TestSharesAddUp takes and releases at random: never more than all, and never so much that a new org finds no room.
func TestSharesAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const limit = 100_000
		s := quota.NewShares(limit, clock.System{})
		held := map[tenant.ID]int64{}
		var sum int64
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			org := tenant.ID(string(rune('a' + rapid.IntRange(0, 5).Draw(t, "org"))))
			if n := rapid.Int64Range(1, 30_000).Draw(t, "bytes"); rapid.Bool().Draw(t, "take") {
				if s.Try(org, n) {
					held[org] += n
					sum += n
				}
			} else if n = min(n, held[org]); n > 0 {
				s.Release(org, n)
				held[org] -= n
				sum -= n
			}
			require.Equal(t, sum, s.Used())
			require.Equal(t, held[org], s.Of(org))
			require.LessOrEqual(t, sum, int64(limit))
		}
		if sum < limit {
			require.True(t, s.Try("new", max(1, (limit-sum)/2)))
		}
	})
}

func TestTakeWaitsForARelease(t *testing.T) {
	t.Parallel()
	s := quota.NewShares(100, clock.System{})
	require.True(t, s.Try("a", 75))
	kicked := make(chan struct{}, 10)
	got := make(chan bool, 1)
	go func() {
		ok, _ := s.Take(context.Background(), "a", 10, time.Hour, func() { kicked <- struct{}{} })
		got <- ok
	}()
	<-kicked
	s.Release("a", 20)
	require.True(t, <-got)
	ok, err := s.Take(t.Context(), "a", 50, time.Millisecond, nil)
	require.NoError(t, err)
	require.False(t, ok)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Take(ctx, "a", 50, time.Hour, nil)
	require.ErrorIs(t, err, context.Canceled)
}
