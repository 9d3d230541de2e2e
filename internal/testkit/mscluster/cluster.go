package mscluster

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mstest"
	"github.com/millstream/millstream/internal/testkit/netproxy"
	"github.com/millstream/millstream/internal/testkit/pgtest"
	"github.com/millstream/millstream/internal/testkit/proctest"
	"github.com/millstream/millstream/internal/testkit/s3test"
)

// Times of a cluster under test, in seconds.
const (
	HeartbeatSecs   = 1
	PeerTimeoutSecs = 3
)

// Layout says how many processes there are of each role.
type Layout struct {
	Routers, Intakes, Queriers, Compactors, Alerts int
	// Env are settings of all processes, by environment name.
	Env map[string]string
}

// Split is the layout that acceptance is judged with.
func Split() Layout { return Layout{Routers: 2, Intakes: 3, Queriers: 2, Compactors: 2} }

// Node is one process with its ways to the others.
type Node struct {
	*mstest.Server
	ID     string
	Role   string
	ToPG   *netproxy.Proxy // from the node to PostgreSQL
	ToS3   *netproxy.Proxy // from the node to S3
	ToNode *netproxy.Proxy // from other nodes to the node; nil for roles that nobody calls

	cluster *Cluster
}

// Cluster is the processes of a test. Its servers are stopped when the test ends.
type Cluster struct {
	Routers, Intakes, Queriers, Compactors, Alerts []*Node

	Postgres *pgtest.Server
	S3       *s3test.Server
	// Admin is the first admin token, where auth.mode is token.
	Admin string
	env   map[string]string
	token string
}

// Start starts a cluster and returns when all processes are ready.
func Start(t testing.TB, l Layout) *Cluster {
	t.Helper()
	c := &Cluster{Postgres: pgtest.Start(t), S3: s3test.Start(t), env: l.Env, token: proctest.Secret()}
	for _, r := range []struct {
		name, short string
		n           int
		to          *[]*Node
	}{
		{"intake", "i", l.Intakes, &c.Intakes},
		{"querier", "q", l.Queriers, &c.Queriers},
		{"compactor", "c", l.Compactors, &c.Compactors},
		{"alert", "a", l.Alerts, &c.Alerts},
		{"router", "r", l.Routers, &c.Routers},
	} {
		for i := range r.n {
			*r.to = append(*r.to, c.New(t, fmt.Sprintf("%s%d", r.short, i+1), r.name))
		}
	}
	// Registered last, so that it runs before the servers' own cleanups: one after the other they would take long.
	t.Cleanup(c.StopAll)
	c.StartAll(t)
	if l.Env["MS_AUTH_MODE"] == "token" {
		c.findAdmin(t)
	}
	c.WaitMembers(t)
	return c
}

// WaitMembers is AwaitMembers for a test, which fails after a minute.
func (c *Cluster) WaitMembers(t testing.TB) {
	t.Helper()
	require.NoError(t, c.AwaitMembers(t.Context()))
}

// AwaitMembers returns when every running router sees every running process as a member, and nobody else.
func (c *Cluster) AwaitMembers(ctx context.Context) error {
	want := make(map[string]bool)
	for _, n := range c.All() {
		if n.Running() {
			want[n.ID] = true
		}
	}
	for _, r := range c.Routers {
		if !r.Running() {
			continue
		}
		err := mstest.WaitFor(ctx, func(ctx context.Context) error {
			members, err := r.Members(ctx)
			if err == nil && !maps.Equal(members, want) {
				err = fmt.Errorf("router %s sees %v, not yet %v", r.ID, members, want)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// findAdmin reads the first admin token out of the log of the process that made it.
func (c *Cluster) findAdmin(t testing.TB) {
	t.Helper()
	for _, n := range c.All() {
		if found := regexp.MustCompile(`first admin token: (ms_\S+)`).FindStringSubmatch(n.Logs()); found != nil {
			require.Empty(t, c.Admin, "two processes made a first admin token")
			c.Admin = found[1]
		}
	}
	require.NotEmpty(t, c.Admin, "one process made the first admin token")
}

// credential is the header of the admin token, where there is one.
func (c *Cluster) credential() []string {
	if c.Admin == "" {
		return nil
	}
	return []string{"Authorization", "Bearer " + c.Admin}
}

// Members returns the ids of the nodes that a router sees as members in all their roles.
func (n *Node) Members(ctx context.Context) (map[string]bool, error) {
	res, err := n.Client("").Do(ctx, http.MethodGet, "/api/v1/cluster/topology", nil, n.cluster.credential()...)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Nodes []struct{ ID, State string }
	}
	if err := json.Unmarshal(res.Body, &doc); err != nil {
		return nil, fmt.Errorf("topology of %s: %w: %s", n.ID, err, res.Body)
	}
	members := make(map[string]bool)
	for _, x := range doc.Nodes {
		if x.State == "active" {
			members[x.ID] = true
		}
	}
	return members, nil
}

// StopAll stops all processes at once.
func (c *Cluster) StopAll() {
	_ = Each(context.Background(), c.All(), func(_ context.Context, n *Node) error { n.Stop(); return nil }) // Stop cannot fail
}

// New prepares one more process without starting it or adding it to the lists.
func (c *Cluster) New(t testing.TB, id, role string) *Node {
	t.Helper()
	n := &Node{cluster: c, ID: id, Role: role, ToPG: netproxy.Start(t, c.Postgres.Addr()), ToS3: netproxy.Start(t, c.S3.Endpoint)}
	dsn, err := url.Parse(c.Postgres.DSN())
	require.NoError(t, err)
	dsn.Host = n.ToPG.Addr()
	env := map[string]string{
		"MS_NODE_ID": id, "MS_NODE_ROLES": role, "MS_META_DATABASE_DSN": dsn.String(), "MS_CLUSTER_TOKEN": c.token,
		"MS_CLUSTER_HEARTBEAT_INTERVAL_SECS": strconv.Itoa(HeartbeatSecs), "MS_CLUSTER_PEER_TIMEOUT_SECS": strconv.Itoa(PeerTimeoutSecs),
		"MS_OBJECT_STORE_BACKEND": "s3", "MS_OBJECT_STORE_ENDPOINT": "http://" + n.ToS3.Addr(), "MS_OBJECT_STORE_PATH_STYLE": "true",
		"MS_OBJECT_STORE_BUCKET": c.S3.Bucket, "MS_OBJECT_STORE_REGION": c.S3.Region,
		"MS_OBJECT_STORE_ACCESS_KEY": c.S3.AccessKey, "MS_OBJECT_STORE_SECRET_KEY": c.S3.SecretKey,
	}
	maps.Copy(env, c.env)
	n.Server = mstest.New(t, mstest.Config{Env: env})
	if role == "intake" || role == "querier" {
		n.ToNode = netproxy.Start(t, n.Peers)
		n.Set("MS_CLUSTER_ADVERTISE_ADDR", n.ToNode.Addr())
	}
	return n
}

// All returns all processes, those that others need first.
func (c *Cluster) All() []*Node {
	var out []*Node
	for _, list := range [][]*Node{c.Intakes, c.Queriers, c.Compactors, c.Alerts, c.Routers} {
		out = append(out, list...)
	}
	return out
}

// StartAll starts the processes that do not run and returns when all are ready.
func (c *Cluster) StartAll(t testing.TB) {
	t.Helper()
	var stopped []*Node
	for _, n := range c.All() {
		if !n.Running() {
			stopped = append(stopped, n)
		}
	}
	require.NoError(t, Each(t.Context(), stopped, func(ctx context.Context, n *Node) error { return n.Start(ctx) }))
}

// Each runs f for all nodes at once and returns the first error.
func Each(ctx context.Context, nodes []*Node, f func(context.Context, *Node) error) error {
	errs := make([]error, len(nodes))
	var wait sync.WaitGroup
	for i, n := range nodes {
		wait.Go(func() { errs[i] = f(ctx, n) })
	}
	wait.Wait()
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("node %s: %w", nodes[i].ID, err)
		}
	}
	return nil
}
