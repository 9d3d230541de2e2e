package chaos_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mscluster"
	"github.com/millstream/millstream/internal/testkit/mstest"
	"github.com/millstream/millstream/internal/testkit/netproxy"
)

// TestCluster strikes the processes of a cluster and what they need while rows flow through two routers.
func TestCluster(t *testing.T) {
	t.Parallel()
	clusterRounds(t, seed(t, 3), func(round int, _ time.Time) bool { return round < 8 }, 2*time.Second)
}

// besieged is a cluster under attack.
type besieged struct {
	*campaign
	cluster *mscluster.Cluster
	outage  time.Duration // of PostgreSQL, the long one
}

// clusterRounds strikes until more says no.
func clusterRounds(t *testing.T, seed uint64, more func(round int, began time.Time) bool, outage time.Duration) {
	t.Helper()
	layout := mscluster.Split()
	layout.Env = restless()
	cluster := mscluster.Start(t, layout)
	var routers []*mstest.Server
	for _, r := range cluster.Routers {
		routers = append(routers, r.Server)
	}
	b := &besieged{campaign: newCampaignOf(t, routers, seed), cluster: cluster, outage: outage}
	b.begin()
	began := time.Now()
	strikes := b.strikes()
	round := 0
	for ; more(round, began); round++ {
		if round > 0 && round%laneRounds == 0 {
			b.turn(round / laneRounds)
		}
		if round%len(strikes) == 0 { // each comes once before any comes again
			b.random.Shuffle(len(strikes), func(i, j int) { strikes[i], strikes[j] = strikes[j], strikes[i] })
		}
		strike := strikes[round%len(strikes)]
		b.rest(500)
		at := time.Now()
		strike.run()
		b.revive()
		b.verify()
		t.Logf("round %d: %s; complete again %v after it began", round, strike.name, time.Since(at).Round(100*time.Millisecond))
	}
	b.stop()
	require.NoError(t, mscluster.Each(t.Context(), cluster.All(), func(ctx context.Context, n *mscluster.Node) error {
		return n.Restart(ctx)
	}))
	b.verifyAll()
	b.figures(round, began)
}

// revive starts what a strike has ended.
func (b *besieged) revive() {
	b.Helper()
	b.cluster.StartAll(b.T)
}

// any returns one of the nodes.
func (b *besieged) any(nodes []*mscluster.Node) *mscluster.Node {
	return nodes[b.random.IntN(len(nodes))]
}

func (b *besieged) strikes() []strike {
	c := b.cluster
	on := func(name string, nodes func() []*mscluster.Node, do func(*mscluster.Node)) strike {
		return strike{name: name, run: func() {
			n := b.any(nodes())
			b.Logf("%s: %s", name, n.ID)
			do(n)
		}}
	}
	kill := func(n *mscluster.Node) { n.Kill(); b.rest(4000) }
	leave := func(n *mscluster.Node) { n.Stop(); b.rest(3000) }
	freeze := func(n *mscluster.Node) {
		require.NoError(b, n.Signal(syscall.SIGSTOP))
		b.rest(7000)
		require.NoError(b, n.Signal(syscall.SIGCONT))
	}
	away := func(to func(*mscluster.Node) *netproxy.Proxy, m netproxy.Mode) func(*mscluster.Node) {
		return func(n *mscluster.Node) {
			p := to(n)
			if p == nil {
				return
			}
			p.Set(m)
			b.rest(5000)
			p.Set(netproxy.Pass)
		}
	}
	toPG := func(n *mscluster.Node) *netproxy.Proxy { return n.ToPG }
	toS3 := func(n *mscluster.Node) *netproxy.Proxy { return n.ToS3 }
	toNode := func(n *mscluster.Node) *netproxy.Proxy { return n.ToNode }
	intakes := func() []*mscluster.Node { return c.Intakes }
	queriers := func() []*mscluster.Node { return c.Queriers }
	return []strike{
		on("an intake is killed", intakes, kill),
		on("an intake leaves", intakes, leave),
		on("an intake is frozen", intakes, freeze),
		on("a querier is killed", queriers, kill),
		on("a querier is frozen", queriers, freeze),
		on("any process is killed", c.All, kill),
		on("any process leaves", c.All, leave),
		on("any process is frozen", c.All, freeze),
		on("an intake is cut off from the others", intakes, away(toNode, netproxy.Refuse)),
		on("an intake does not answer the others", intakes, away(toNode, netproxy.Stall)),
		on("a querier does not answer the others", queriers, away(toNode, netproxy.Stall)),
		on("a node is cut off from PostgreSQL", c.All, away(toPG, netproxy.Refuse)),
		on("a node's PostgreSQL hangs", c.All, away(toPG, netproxy.Stall)),
		on("an intake is cut off from S3", intakes, away(toS3, netproxy.Refuse)),
		{name: "two intakes are killed", run: func() {
			first := b.random.IntN(len(c.Intakes))
			c.Intakes[first].Kill()
			c.Intakes[(first+1)%len(c.Intakes)].Kill()
			b.rest(3000)
		}},
		{name: "PostgreSQL is stopped for a moment", run: func() { b.stopPostgres(b.outage / 12) }},
		{name: "PostgreSQL is stopped for long", run: func() { b.stopPostgres(b.outage) }},
		{name: "S3 is killed", run: func() {
			c.S3.Kill()
			b.rest(5000)
			require.NoError(b, c.S3.Start(b.Context()))
		}},
	}
}

func (b *besieged) stopPostgres(d time.Duration) {
	b.cluster.Postgres.Kill()
	time.Sleep(d)
	require.NoError(b, b.cluster.Postgres.Start(b.Context()))
}
