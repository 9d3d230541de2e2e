package clustertest

import (
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/cluster"
)

func leaseCases() []testCase {
	key := cluster.LeaseKey{Work: "report", Item: "r1"}
	return []testCase{
		{"one holder at a time", func(f *fixture) {
			l := f.acquired(key, "a")
			require.Equal(f.t, key, l.LeaseKey)
			require.Equal(f.t, "a", l.Holder)
			f.held(key, "b")
			f.held(key, "a")
			f.acquired(cluster.LeaseKey{Work: "report", Item: "r2"}, "b")
			f.acquired(cluster.LeaseKey{Work: "connector", Item: "r1"}, "b")
			require.NoError(f.t, f.Store.Release(f.ctx(), l))
			f.acquired(key, "b")
		}},
		{"taken over ten minutes after a crash", func(f *fixture) {
			f.acquired(key, "a")
			f.Pass(cluster.LeaseFor - f.PeerTimeout)
			f.held(key, "b")
			f.Pass(2 * f.PeerTimeout)
			f.acquired(key, "b")
		}},
		{"a late release takes nothing from the next holder", func(f *fixture) {
			old := f.acquired(key, "a")
			f.Pass(cluster.LeaseFor + f.PeerTimeout)
			f.acquired(key, "a")
			require.NoError(f.t, f.Store.Release(f.ctx(), old))
			f.held(key, "b")
		}},
	}
}

func (f *fixture) acquired(key cluster.LeaseKey, holder string) cluster.Lease {
	f.t.Helper()
	l, ok, err := f.Store.Acquire(f.ctx(), key, holder)
	require.NoError(f.t, err)
	require.True(f.t, ok)
	return l
}

func (f *fixture) held(key cluster.LeaseKey, by string) {
	f.t.Helper()
	_, ok, err := f.Store.Acquire(f.ctx(), key, by)
	require.NoError(f.t, err)
	require.False(f.t, ok)
}
