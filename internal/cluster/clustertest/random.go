package clustertest

import (
	"fmt"
	"math/rand/v2"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/cluster"
)

// steps is how long a random life is.
const steps = 40

func randomCases() []testCase {
	return []testCase{{"any sequence of joins, leaves, crashes and outages", func(f *fixture) {
		seed := rand.Uint64()
		f.t.Logf("seed %d", seed)
		l := life{fixture: f, rand: rand.New(rand.NewPCG(seed, 1)), alive: map[string]cluster.Node{}, second: f.Second(f.t)}
		for range steps {
			l.step()
			l.look()
		}
		l.settle()
	}}}
}

// life is a cluster in which anything may happen.
type life struct {
	*fixture

	rand        *rand.Rand
	second      Store
	alive       map[string]cluster.Node
	incarnation int64
	known       int64 // epoch of the second reader
}

func (l *life) step() {
	id := fmt.Sprint("n", l.rand.IntN(5))
	n, alive := l.alive[id]
	switch l.rand.IntN(8) {
	case 0, 1, 2: // a start, or a crash and a restart
		l.incarnation++
		roles := [][]cluster.Role{{cluster.RoleIntake}, {cluster.RoleIntake, cluster.RoleCompactor}, {cluster.RoleStandalone}}
		l.alive[id] = node(id, l.incarnation, roles[l.rand.IntN(len(roles))]...)
		l.claimed(l.alive[id], l.rowOf(id))
	case 3: // a crash
		delete(l.alive, id)
	case 4:
		if alive {
			delete(l.alive, id)
			require.NoError(l.t, l.Store.Leave(l.ctx(), id, n.Incarnation))
		}
	case 5: // an outage
		l.Pass(l.PeerTimeout * 3)
	default:
		for range l.rand.IntN(8) {
			l.Pass(l.PeerTimeout / 5)
			l.beatAll()
			l.look()
		}
	}
}

// rowOf returns the incarnation that the store has under an id, which is dead when a new one starts.
func (l *life) rowOf(id string) int64 {
	all, err := l.Store.Statuses(l.ctx())
	require.NoError(l.t, err)
	for _, s := range all {
		if s.ID == id {
			return s.Incarnation
		}
	}
	return 0
}

func (l *life) beatAll() {
	for _, n := range l.alive {
		l.beat(n)
	}
}

// look lets both readers look and holds their views against each other.
func (l *life) look() {
	l.observe()
	v, err := l.second.Observe(l.ctx(), l.known)
	require.NoError(l.t, err)
	require.GreaterOrEqual(l.t, v.Epoch, l.known)
	l.known = v.Epoch
	l.check(v)
}

// settle lets the cluster come to rest: who lives is a member, who does not is none.
func (l *life) settle() {
	for range 20 {
		l.Pass(l.PeerTimeout / 5)
		l.beatAll()
		l.look()
	}
	var want []string
	for id := range l.alive {
		want = append(want, id)
	}
	require.ElementsMatch(l.t, want, ids(l.last.Nodes()))
	for _, n := range l.last.Nodes() {
		require.Equal(l.t, cluster.StateActive, n.State)
		require.Equal(l.t, l.alive[n.ID].Incarnation, n.Incarnation)
	}
}
