package clustertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/cluster"
)

// fixture is a store with the few sentences that cases are made of. Its checks end the test.
type fixture struct {
	Subject

	t     *testing.T
	last  *cluster.View
	texts map[int64]string // of each epoch seen
}

func newFixture(t *testing.T, s Subject) *fixture {
	t.Helper()
	return &fixture{Subject: s, t: t, texts: map[int64]string{}}
}

func (f *fixture) ctx() context.Context { return f.t.Context() }

// node returns a node with an address that tells its incarnation.
func node(id string, incarnation int64, roles ...cluster.Role) cluster.Node {
	return cluster.Node{
		ID: id, Incarnation: incarnation, Roles: roles, Version: "1.2.3", QuerySlots: 3,
		Address: fmt.Sprintf("%s-%d:5082", id, incarnation), HTTPAddress: id + ":5080",
	}
}

func intake(id string, incarnation int64) cluster.Node {
	return node(id, incarnation, cluster.RoleIntake)
}

// beat writes ready heartbeats.
func (f *fixture) beat(nodes ...cluster.Node) {
	f.t.Helper()
	for _, n := range nodes {
		_, err := f.Store.Beat(f.ctx(), cluster.Heartbeat{Node: n, Ready: true})
		require.NoError(f.t, err)
	}
}

// beatUnready writes a heartbeat of a node that replays.
func (f *fixture) beatUnready(n cluster.Node) {
	f.t.Helper()
	_, err := f.Store.Beat(f.ctx(), cluster.Heartbeat{Node: n, Progress: cluster.Progress{Phase: "replaying"}})
	require.NoError(f.t, err)
}

// observe returns the view and checks what is true of any two views.
func (f *fixture) observe() *cluster.View {
	f.t.Helper()
	var known int64
	if f.last != nil {
		known = f.last.Epoch
	}
	v, err := f.Store.Observe(f.ctx(), known)
	require.NoError(f.t, err)
	f.check(v)
	require.GreaterOrEqual(f.t, v.Epoch, known, "epochs only grow")
	f.last = v
	return v
}

// check holds a view against the others of its epoch.
func (f *fixture) check(v *cluster.View) {
	f.t.Helper()
	text := encode(f.t, v)
	if before, seen := f.texts[v.Epoch]; seen {
		require.Equal(f.t, before, text, "one epoch is one view")
	}
	f.texts[v.Epoch] = text
}

func encode(t *testing.T, v *cluster.View) string {
	t.Helper()
	text, err := v.MarshalJSON()
	require.NoError(t, err)
	return string(text)
}

// live lets d pass for a cluster in which the given nodes beat and somebody looks.
func (f *fixture) live(d time.Duration, nodes ...cluster.Node) {
	f.t.Helper()
	for step := f.PeerTimeout / 5; d > 0; d -= step {
		f.Pass(min(step, d))
		f.beat(nodes...)
		f.observe()
	}
}

// started returns with the nodes as members and the store known to be reachable.
func (f *fixture) started(nodes ...cluster.Node) {
	f.t.Helper()
	f.beat(nodes...)
	f.observe()
	f.live(2*f.PeerTimeout, nodes...)
}

// moment is more than the tests' own time and less than any step.
func (f *fixture) moment() time.Duration { return f.PeerTimeout / 20 }

func ids(nodes []cluster.Node) []string {
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = n.ID
	}
	return out
}

// members requires who is a member, and who is joining, of a role.
func (f *fixture) members(r cluster.Role, members, joining []string) {
	f.t.Helper()
	v := f.observe()
	require.ElementsMatch(f.t, members, ids(v.Members[r]), "members of %s", r)
	require.ElementsMatch(f.t, joining, ids(v.Joining[r]), "joining %s", r)
}
