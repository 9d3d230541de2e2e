package clustertest

import (
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/cluster"
)

func claimCases() []testCase {
	return []testCase{
		{"a new id", func(f *fixture) {
			f.claimed(intake("a", 1), 0)
			s := f.status("a")
			require.Equal(f.t, cluster.StateJoining, s.State)
			require.Equal(f.t, "a-1:5082", s.Address)
			f.members(cluster.RoleIntake, nil, nil)
		}},
		{"refused while another incarnation beats", func(f *fixture) {
			f.beat(intake("a", 1))
			f.Pass(f.PeerTimeout - f.moment())
			holder := f.refused(intake("a", 2), 0)
			require.Equal(f.t, int64(1), holder.Incarnation)
			require.Equal(f.t, "a-1:5082", holder.Address)
			f.refused(intake("a", 2), 7)
			f.beat(intake("a", 1))
		}},
		{"granted once it is silent", func(f *fixture) {
			f.beat(intake("a", 1))
			f.Pass(f.PeerTimeout + f.moment())
			f.claimed(intake("a", 2), 0)
		}},
		{"granted in place of a dead incarnation", func(f *fixture) {
			f.beat(intake("a", 1))
			f.claimed(intake("a", 2), 1)
			_, err := f.Store.Beat(f.ctx(), cluster.Heartbeat{Node: intake("a", 1), Ready: true})
			require.ErrorIs(f.t, err, cluster.ErrSuperseded)
			f.beat(intake("a", 2))
		}},
		{"granted again to the same incarnation", func(f *fixture) {
			f.claimed(intake("a", 1), 0)
			f.claimed(intake("a", 1), 0)
		}},
		{"granted after a clean end", func(f *fixture) {
			f.beat(intake("a", 1))
			require.NoError(f.t, f.Store.Leave(f.ctx(), "a", 1))
			f.claimed(intake("a", 2), 0)
		}},
		{"a heartbeat dated in the future holds an id for one peer timeout", func(f *fixture) {
			f.beat(intake("a", 1))
			f.Pass(-24 * f.PeerTimeout)
			f.refused(intake("a", 2), 0)
			f.Pass(f.PeerTimeout + f.moment())
			f.claimed(intake("a", 2), 0)
		}},
		{"a heartbeat makes the row that is missing", func(f *fixture) {
			f.beat(intake("a", 1))
			require.NoError(f.t, f.Store.Leave(f.ctx(), "a", 1))
			f.beat(intake("a", 1))
			require.Equal(f.t, cluster.StateActive, f.status("a").State)
		}},
		{"leaving takes one's own row alone", func(f *fixture) {
			f.beat(intake("a", 2), intake("b", 1))
			require.NoError(f.t, f.Store.Leave(f.ctx(), "a", 1))
			require.NoError(f.t, f.Store.Leave(f.ctx(), "nobody", 1))
			f.members(cluster.RoleIntake, []string{"a", "b"}, nil)
		}},
		{"statuses tell what nodes say", func(f *fixture) {
			f.beatUnready(node("a", 1, cluster.RoleRouter, cluster.RoleIntake))
			f.Pass(f.PeerTimeout + f.moment())
			f.beat(intake("b", 1))
			s := f.status("a")
			require.Equal(f.t, cluster.StateSilent, s.State)
			require.Equal(f.t, "replaying", s.Phase)
			require.Equal(f.t, []cluster.Role{cluster.RoleRouter, cluster.RoleIntake}, s.Roles)
			require.Greater(f.t, s.Silence, f.PeerTimeout)
			require.Equal(f.t, "1.2.3", s.Version)
			require.Equal(f.t, 3, s.QuerySlots)
			require.Equal(f.t, "a:5080", s.HTTPAddress)
			require.Equal(f.t, cluster.StateActive, f.status("b").State)
		}},
	}
}

func (f *fixture) claimed(n cluster.Node, replaces int64) {
	f.t.Helper()
	_, claimed, err := f.Store.Claim(f.ctx(), n, replaces)
	require.NoError(f.t, err)
	require.True(f.t, claimed)
}

func (f *fixture) refused(n cluster.Node, replaces int64) cluster.Status {
	f.t.Helper()
	holder, claimed, err := f.Store.Claim(f.ctx(), n, replaces)
	require.NoError(f.t, err)
	require.False(f.t, claimed)
	return holder
}

func (f *fixture) status(id string) cluster.Status {
	f.t.Helper()
	all, err := f.Store.Statuses(f.ctx())
	require.NoError(f.t, err)
	for _, s := range all {
		if s.ID == id {
			return s
		}
	}
	require.Fail(f.t, "no such row", id)
	return cluster.Status{}
}
