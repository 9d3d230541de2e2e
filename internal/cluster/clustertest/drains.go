package clustertest

import (
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/fault"
)

func drainCases() []testCase {
	return []testCase{
		{"nobody to drain", func(f *fixture) {
			_, err := f.Store.RequestDrain(f.ctx(), "a")
			require.True(f.t, fault.Is(err, fault.NotFound), err)
			f.beat(intake("a", 1))
			f.Pass(f.PeerTimeout + f.moment())
			_, err = f.Store.RequestDrain(f.ctx(), "a")
			require.True(f.t, fault.Is(err, fault.NotFound), err)
			require.Equal(f.t, `there is no live node "a" to drain`, fault.Message(err))
		}},
		{"the whole way", func(f *fixture) {
			f.beat(intake("a", 1))
			d, err := f.Store.RequestDrain(f.ctx(), "a")
			require.NoError(f.t, err)
			require.Equal(f.t, "a", d.Node)
			require.Equal(f.t, int64(1), d.Incarnation)
			require.Equal(f.t, d.Requested, d.Updated)
			require.True(f.t, f.asked(intake("a", 1)))
			require.NoError(f.t, f.Store.Leave(f.ctx(), "a", 1))
			f.report(1, cluster.Progress{Phase: "flushing", UnflushedRows: 12}, false)
			d = f.drain()
			require.Equal(f.t, cluster.Progress{Phase: "flushing", UnflushedRows: 12}, d.Progress)
			require.True(f.t, d.Updated.After(d.Requested))
			require.Zero(f.t, d.Ended)
			f.report(1, cluster.Progress{Phase: "drained"}, true)
			f.report(1, cluster.Progress{Phase: "late"}, false)
			d = f.drain()
			require.Equal(f.t, cluster.Progress{Phase: "drained"}, d.Progress)
			require.NotZero(f.t, d.Ended)
		}},
		{"twice is once", func(f *fixture) {
			f.beat(intake("a", 1))
			first, err := f.Store.RequestDrain(f.ctx(), "a")
			require.NoError(f.t, err)
			f.Pass(f.moment())
			f.report(1, cluster.Progress{Phase: "flushing"}, false)
			require.NoError(f.t, f.Store.Leave(f.ctx(), "a", 1))
			second, err := f.Store.RequestDrain(f.ctx(), "a")
			require.NoError(f.t, err)
			require.Equal(f.t, first.Requested, second.Requested)
			require.Equal(f.t, "flushing", second.Phase)
		}},
		{"an order to one incarnation is none to the next", func(f *fixture) {
			f.beat(intake("a", 1))
			_, err := f.Store.RequestDrain(f.ctx(), "a")
			require.NoError(f.t, err)
			f.claimed(intake("a", 2), 1)
			require.False(f.t, f.asked(intake("a", 2)))
			f.report(2, cluster.Progress{Phase: "none of it"}, true)
			require.Zero(f.t, f.drain().Ended)
			d, err := f.Store.RequestDrain(f.ctx(), "a")
			require.NoError(f.t, err)
			require.Equal(f.t, int64(2), d.Incarnation)
			require.True(f.t, f.asked(intake("a", 2)))
		}},
		{"a drained node can be drained in its next life", func(f *fixture) {
			f.beat(intake("a", 1))
			_, err := f.Store.RequestDrain(f.ctx(), "a")
			require.NoError(f.t, err)
			f.report(1, cluster.Progress{}, true)
			require.NoError(f.t, f.Store.Leave(f.ctx(), "a", 1))
			_, err = f.Store.RequestDrain(f.ctx(), "a")
			require.True(f.t, fault.Is(err, fault.NotFound), err)
			f.beat(intake("a", 2))
			d, err := f.Store.RequestDrain(f.ctx(), "a")
			require.NoError(f.t, err)
			require.Equal(f.t, int64(2), d.Incarnation)
			require.Zero(f.t, d.Ended)
		}},
		{"forgotten after a week", func(f *fixture) {
			f.beat(intake("a", 1))
			_, err := f.Store.RequestDrain(f.ctx(), "a")
			require.NoError(f.t, err)
			f.Pass(cluster.DrainsFor + f.PeerTimeout)
			all, err := f.Store.Drains(f.ctx())
			require.NoError(f.t, err)
			require.Empty(f.t, all)
		}},
	}
}

// asked reports whether a heartbeat tells the node to drain.
func (f *fixture) asked(n cluster.Node) bool {
	f.t.Helper()
	drain, err := f.Store.Beat(f.ctx(), cluster.Heartbeat{Node: n, Ready: true})
	require.NoError(f.t, err)
	return drain
}

// report is a word of node a about its drain.
func (f *fixture) report(incarnation int64, p cluster.Progress, ended bool) {
	f.t.Helper()
	f.Pass(f.moment())
	require.NoError(f.t, f.Store.ReportDrain(f.ctx(), "a", incarnation, p, ended))
}

// drain returns the drain of node a, the only one.
func (f *fixture) drain() cluster.Drain {
	f.t.Helper()
	all, err := f.Store.Drains(f.ctx())
	require.NoError(f.t, err)
	require.Len(f.t, all, 1)
	require.Equal(f.t, "a", all[0].Node)
	return all[0]
}
