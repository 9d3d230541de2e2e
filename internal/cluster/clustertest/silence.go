package clustertest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/cluster"
)

// silenceCases are about nodes that stop beating.
func silenceCases() []testCase {
	const in = cluster.RoleIntake
	var (
		a, b, c = intake("a", 1), intake("b", 2), intake("c", 3)
		both    = []string{"a", "b"}
	)
	return []testCase{
		{"a crash is noticed after one peer timeout, in a cluster of two as well", func(f *fixture) {
			f.started(a, b)
			f.live(f.PeerTimeout-f.moment(), a)
			f.members(in, both, nil)
			f.live(2*f.moment(), a)
			f.members(in, []string{"a"}, nil)
		}},
		{"a restart in time keeps the place", func(f *fixture) {
			f.started(a, b)
			f.live(f.PeerTimeout/2, a)
			again := intake("b", 9)
			f.claimed(again, 2)
			f.beatUnready(again)
			f.members(in, both, nil)
			require.Equal(f.t, int64(9), f.last.Members[in][1].Incarnation)
			f.live(f.PeerTimeout/4, a)
			f.beat(again)
			f.live(3*f.PeerTimeout, a, again)
			f.members(in, both, nil)
			require.Equal(f.t, cluster.StateActive, f.last.Members[in][1].State)
		}},
		{"a replay that takes longer loses it", func(f *fixture) {
			f.started(a, b)
			again := intake("b", 9)
			f.claimed(again, 2)
			f.live(f.PeerTimeout/2, a)
			f.beatUnready(again)
			f.live(f.PeerTimeout/2+f.moment(), a)
			f.members(in, []string{"a"}, nil)
			f.beat(again)
			f.members(in, []string{"a"}, []string{"b"})
		}},
		{"a pause longer than the timeout: the node joins anew", func(f *fixture) {
			f.started(a, b)
			f.live(2*f.PeerTimeout, a)
			f.beat(b)
			f.members(in, []string{"a"}, []string{"b"})
			f.live(f.PeerTimeout+f.moment(), a, b)
			f.members(in, both, nil)
		}},
		{"a heartbeat dated in the future keeps no dead node alive", func(f *fixture) {
			f.started(a, b)
			f.Pass(-1000 * f.PeerTimeout)
			f.members(in, both, nil)
			f.live(3*f.PeerTimeout, a)
			f.members(in, []string{"a"}, nil)
			f.beat(c)
			f.live(2*f.PeerTimeout, a, c)
			f.members(in, []string{"a", "c"}, nil)
		}},
		{"rows silent for five minutes are swept", func(f *fixture) {
			f.started(a, b)
			f.live(cluster.SilentRowsFor+f.PeerTimeout, a)
			n, err := f.Store.Sweep(f.ctx())
			require.NoError(f.t, err)
			require.Equal(f.t, 1, n)
			all, err := f.Store.Statuses(f.ctx())
			require.NoError(f.t, err)
			require.Len(f.t, all, 1)
			require.Equal(f.t, "a", all[0].ID)
		}},
	}
}

// outageCases are about a store that nobody could reach for a while.
func outageCases() []testCase {
	const in = cluster.RoleIntake
	var (
		a, b, c = intake("a", 1), intake("b", 2), intake("c", 3)
		both    = []string{"a", "b"}
	)
	return []testCase{
		{"an outage of the store reshuffles nothing", func(f *fixture) {
			f.started(a, b, c)
			epoch := f.observe().Epoch
			for _, outage := range []time.Duration{f.PeerTimeout / 2, f.PeerTimeout, 4 * f.PeerTimeout, 100 * f.PeerTimeout} {
				f.Pass(outage)
				f.observe()
				f.beat(a)
				f.observe()
				f.Pass(f.PeerTimeout / 4)
				f.beat(b, c)
				f.live(3*f.PeerTimeout, a, b, c)
				require.Equal(f.t, epoch, f.observe().Epoch, "after an outage of %v", outage)
			}
		}},
		{"who died in an outage goes one peer timeout after it", func(f *fixture) {
			f.started(a, b)
			f.Pass(10 * f.PeerTimeout)
			f.beat(a)
			f.members(in, both, nil)
			f.live(f.PeerTimeout-f.moment(), a)
			f.members(in, both, nil)
			f.live(2*f.moment(), a)
			f.members(in, []string{"a"}, nil)
		}},
		{"an outage shorter than a gap removes nobody", func(f *fixture) {
			f.started(a, b)
			epoch := f.observe().Epoch
			f.live(f.PeerTimeout/2, a) // the longest way between two heartbeats of b
			f.Pass(f.PeerTimeout/3 - f.moment())
			f.observe()
			f.Pass(f.PeerTimeout / 10) // until it has tried again
			f.observe()
			f.beat(a, b)
			f.live(2*f.PeerTimeout, a, b)
			require.Equal(f.t, epoch, f.observe().Epoch)
		}},
		{"a clean leave counts during an outage's aftermath", func(f *fixture) {
			f.started(a, b)
			f.Pass(10 * f.PeerTimeout)
			require.NoError(f.t, f.Store.Leave(f.ctx(), "b", 2))
			f.members(in, []string{"a"}, nil)
		}},
		{"a clock that leaps ahead removes nobody", func(f *fixture) {
			f.started(a, b)
			epoch := f.observe().Epoch
			f.Pass(1000 * f.PeerTimeout)
			f.observe()
			f.beat(a, b)
			f.live(2*f.PeerTimeout, a, b)
			require.Equal(f.t, epoch, f.observe().Epoch)
		}},
		{"not when it was the store that was silent", func(f *fixture) {
			f.started(a, b)
			f.Pass(10*cluster.SilentRowsFor + 10*f.PeerTimeout)
			for range 2 {
				n, err := f.Store.Sweep(f.ctx())
				require.NoError(f.t, err)
				require.Zero(f.t, n)
				f.members(in, both, nil)
			}
		}},
	}
}
