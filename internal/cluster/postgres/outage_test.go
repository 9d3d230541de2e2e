package postgres_test

import (
	"context"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/cluster/postgres"
	"github.com/millstream/millstream/internal/testkit/netproxy"
	"github.com/millstream/millstream/internal/testkit/pgtest"
)

// The pace of tests in which time really passes: slow against a busy machine's stalls, fast against patience.
const (
	fastHeartbeat = 500 * time.Millisecond
	fastTimeout   = 3 * time.Second
	patience      = 2 * time.Minute // for a condition that a healthy machine meets within seconds
)

// process is a membership that runs on a real database.
type process struct {
	*cluster.Membership

	kill func() // ends it as a crash does: nobody is told
}

func start(t *testing.T, dsn, id string, incarnation int64) *process {
	t.Helper()
	store, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn, PeerTimeout: fastTimeout})
	require.NoError(t, err)
	m, err := cluster.New(cluster.Options{
		Self:              cluster.Node{ID: id, Incarnation: incarnation, Roles: []cluster.Role{cluster.RoleIntake}},
		HeartbeatInterval: fastHeartbeat, PeerTimeout: fastTimeout,
	}, store)
	require.NoError(t, err)
	require.NoError(t, m.Claim(t.Context(), nil))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	p := &process{Membership: m}
	ended := false
	p.kill = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, store.Close())
	}
	t.Cleanup(p.kill)
	m.SetReady(true)
	return p
}

func (p *process) sees(members ...string) func() bool {
	return func() bool {
		v := p.Current()
		if v == nil || p.Stale() > 0 || len(v.Members[cluster.RoleIntake]) != len(members) {
			return false
		}
		for _, id := range members {
			if !v.IsMember(cluster.RoleIntake, id) {
				return false
			}
		}
		return true
	}
}

// await waits until a condition holds.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, patience, 20*time.Millisecond, what)
}

// TestServerKilled: the server is away for longer than a peer timeout and comes back. Nobody moves; the next crash is noticed as ever.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	nodes := map[string]*process{}
	for i, id := range []string{"a", "b", "c"} {
		nodes[id] = start(t, server.DSN(), id, int64(i+1))
	}
	all := nodes["a"].sees("a", "b", "c")
	await(t, "all have joined", all)
	epoch := nodes["a"].Current().Epoch

	server.Kill()
	await(t, "every view is older than a peer timeout", func() bool {
		for _, p := range nodes {
			if p.Stale() < 2*fastTimeout {
				return false
			}
		}
		return true
	})
	v, err := nodes["a"].View(t.Context())
	require.NoError(t, err, "the last good view serves")
	require.Equal(t, epoch, v.Epoch)
	require.NoError(t, server.Start(t.Context()))
	for id, p := range nodes {
		await(t, id+" reads again", p.sees("a", "b", "c"))
	}

	nodes["c"].kill()
	for _, id := range []string{"a", "b"} {
		await(t, id+" has noticed the crash", nodes[id].sees("a", "b"))
		require.Equal(t, epoch+1, nodes[id].Current().Epoch, "the crash alone has changed the members")
	}
}

// TestOneNodeCutOff: one node loses the database, the others go on without it, and it comes back by itself.
func TestOneNodeCutOff(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	a := start(t, dsn, "a", 1)
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	proxy := netproxy.Start(t, u.Host)
	u.Host = proxy.Addr()
	b := start(t, u.String(), "b", 2)
	for _, p := range []*process{a, b} {
		await(t, "both have joined", p.sees("a", "b"))
	}
	for i, mode := range []netproxy.Mode{netproxy.Stall, netproxy.Refuse} {
		proxy.Set(mode)
		await(t, fmt.Sprintf("%d: a goes on without b", i), a.sees("a"))
		v, err := b.View(t.Context())
		require.NoError(t, err)
		require.Len(t, v.Members[cluster.RoleIntake], 2, "b keeps its last view")
		proxy.Set(netproxy.Pass)
		for _, p := range []*process{a, b} {
			await(t, fmt.Sprintf("%d: both are back", i), p.sees("a", "b"))
		}
	}
	require.NoError(t, b.Leave(t.Context()))
	await(t, "b has left", a.sees("a"))
}
