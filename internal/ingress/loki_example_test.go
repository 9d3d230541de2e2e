package ingress_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/ingress"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/overrides"
	"github.com/millstream/millstream/internal/quota"
	"github.com/millstream/millstream/internal/tenant"
)

// TestLokisExampleByTheClock sends for both orgs of Loki's example at once, as much as is taken, over a minute of a clock that stands
// still in between: what burst and rate allow, and no request less.
func TestLokisExampleByTheClock(t *testing.T) {
	t.Parallel()
	const (
		mib     = 1 << 20
		request = mib / 4
	)
	text, err := os.ReadFile("../overrides/testdata/seed.yaml")
	require.NoError(t, err)
	source := limits.NewSource(limits.Default(), nil)
	source.Replace(overrides.Parse(text).Good)
	c := clock.NewFake(time.Unix(1_741_600_800, 0))
	rate := quota.NewBytes(c, ingress.RateOf(source.For))
	admitted := map[tenant.ID]int64{}
	fill := func(org tenant.ID) {
		for rate.Take(org, request) == nil {
			admitted[org] += request
		}
	}
	for tick := range 601 { // tenths of a second
		if tick > 0 {
			c.Advance(100 * time.Millisecond)
		}
		fill("medium_user")
		fill("big_user")
	}
	for org, allowed := range map[tenant.ID]int64{"medium_user": (20 + 60*10) * mib, "big_user": (40 + 60*30) * mib} {
		require.LessOrEqual(t, admitted[org], allowed)
		require.Greater(t, admitted[org], allowed-request-1, "less than one more request would have fitted")
	}

	require.NoError(t, rate.Take("small_user", 1<<40), "an org that is not in the file has no limit")

	c.Advance(time.Hour)
	require.NoError(t, rate.Take("medium_user", 20*mib), "the biggest payload")
	err = rate.Take("medium_user", 20*mib+1)
	require.True(t, fault.Is(err, fault.TooLarge))
	require.NoError(t, rate.Take("big_user", 40*mib))
	require.True(t, fault.Is(rate.Take("big_user", 40*mib+1), fault.TooLarge))
	source.Replace(nil)
	require.NoError(t, rate.Take("medium_user", 1<<40), "a change is in force at the next request")
}
