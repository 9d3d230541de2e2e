package clustertest

import (
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/cluster"
)

// memberCases are about who comes and who leaves.
func memberCases() []testCase {
	const in = cluster.RoleIntake
	return []testCase{
		{"the first of a role joins at once, together with those beside it", func(f *fixture) {
			f.beat(intake("b", 2), intake("a", 1))
			f.members(in, []string{"a", "b"}, nil)
			require.Equal(f.t, []string{"a", "b"}, ids(f.last.Nodes()), "ordered by id")
		}},
		{"a later one waits for one peer timeout", func(f *fixture) {
			f.started(intake("a", 1))
			f.beat(intake("b", 2))
			f.members(in, []string{"a"}, []string{"b"})
			f.live(f.PeerTimeout-f.moment(), intake("a", 1), intake("b", 2))
			f.members(in, []string{"a"}, []string{"b"})
			f.live(2*f.moment(), intake("a", 1), intake("b", 2))
			f.members(in, []string{"a", "b"}, nil)
			require.Equal(f.t, []string{"a", "b"}, f.last.WorkIDs(in))
		}},
		{"each role by itself", func(f *fixture) {
			f.started(intake("a", 1))
			f.beat(node("b", 2, in, cluster.RoleCompactor))
			f.members(in, []string{"a"}, []string{"b"})
			f.members(cluster.RoleCompactor, []string{"b"}, nil)
			require.Equal(f.t, cluster.StateJoining, f.last.Nodes()[1].State)
		}},
		{"standalone compacts and alerts", func(f *fixture) {
			f.beat(node("s", 1, cluster.RoleStandalone))
			f.members(cluster.RoleCompactor, []string{"s"}, nil)
			f.members(cluster.RoleAlert, []string{"s"}, nil)
			f.members(in, nil, nil)
			f.members(cluster.RoleQuerier, nil, nil)
		}},
		{"who replays is no member", func(f *fixture) {
			f.beatUnready(intake("a", 1))
			f.members(in, nil, nil)
			f.beat(intake("a", 1))
			f.members(in, []string{"a"}, nil)
		}},
		{"who says it is not ready leaves at once", func(f *fixture) {
			f.started(intake("a", 1), intake("b", 2))
			f.beatUnready(intake("b", 2))
			f.members(in, []string{"a"}, nil)
			f.beat(intake("b", 2))
			f.members(in, []string{"a"}, []string{"b"})
		}},
		{"who leaves is gone at once, and waits when it returns", func(f *fixture) {
			f.started(intake("a", 1), intake("b", 2))
			require.NoError(f.t, f.Store.Leave(f.ctx(), "b", 2))
			f.members(in, []string{"a"}, nil)
			f.beat(intake("b", 3))
			f.members(in, []string{"a"}, []string{"b"})
		}},
		{"the last one leaving makes way for who waits", func(f *fixture) {
			f.started(intake("a", 1))
			f.beat(intake("b", 2))
			f.members(in, []string{"a"}, []string{"b"})
			require.NoError(f.t, f.Store.Leave(f.ctx(), "a", 1))
			f.members(in, []string{"b"}, nil)
		}},
	}
}

// viewCases are about the view that is written, whoever is in it.
func viewCases() []testCase {
	const in = cluster.RoleIntake
	return []testCase{
		{"an empty store", func(f *fixture) {
			v := f.observe()
			require.Equal(f.t, cluster.Algo, v.Algo)
			require.Empty(f.t, v.Nodes())
			require.Empty(f.t, v.Owners(1, 3))
		}},
		{"nothing new, no new epoch", func(f *fixture) {
			f.started(intake("a", 1), intake("b", 2))
			epoch := f.observe().Epoch
			f.live(3*f.PeerTimeout, intake("a", 1), intake("b", 2))
			require.Equal(f.t, epoch, f.observe().Epoch)
		}},
		{"another address, another epoch", func(f *fixture) {
			f.started(intake("a", 1))
			epoch := f.observe().Epoch
			moved := intake("a", 1)
			moved.Address = "elsewhere:5082"
			f.beat(moved)
			require.Equal(f.t, epoch+1, f.observe().Epoch)
			require.Equal(f.t, "elsewhere:5082", f.last.Members[in][0].Address)
		}},
		{"epochs exceed what the reader knows", func(f *fixture) {
			f.beat(intake("a", 1))
			v, err := f.Store.Observe(f.ctx(), 41)
			require.NoError(f.t, err)
			require.Equal(f.t, int64(42), v.Epoch)
			v, err = f.Store.Observe(f.ctx(), 7)
			require.NoError(f.t, err)
			require.Equal(f.t, int64(42), v.Epoch)
			v, err = f.Store.Observe(f.ctx(), 50) // of a store restored from a backup, where nothing has changed since
			require.NoError(f.t, err)
			require.Equal(f.t, int64(51), v.Epoch)
		}},
		{"all readers see the same", func(f *fixture) {
			f.beat(intake("a", 1), node("r", 2, cluster.RoleRouter))
			v := f.observe()
			other, err := f.Second(f.t).Observe(f.ctx(), 0)
			require.NoError(f.t, err)
			require.Equal(f.t, encode(f.t, v), encode(f.t, other))
		}},
	}
}
