package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/cluster"
	clusterpg "github.com/millstream/millstream/internal/cluster/postgres"
	"github.com/millstream/millstream/internal/cluster/work"
	"github.com/millstream/millstream/internal/config"
	"github.com/millstream/millstream/internal/rpc"
)

// identity is who the process is among others. A process that is alone has none and is a member of itself.
type identity struct {
	self     cluster.Node
	began    time.Time
	writer   catalog.Writer // zero: alone
	previous int64          // incarnation that this data directory had before, 0 = none
	store    clusterStore   // nil: alone
	members  membership
	peers    *rpc.Peers
	division *work.Division // of the compactor role; nil without it
}

// clusterStore is the database of the members.
type clusterStore interface {
	cluster.Store
	cluster.Leases
	Close() error
}

// membership is cluster.Membership or, alone, cluster.Static.
type membership interface {
	View(ctx context.Context) (*cluster.View, error)
	Current() *cluster.View
}

// clustered reports whether there may be other nodes: all roles but a standalone without a database or a token.
func (n *node) clustered() bool {
	return n.config.MetaDatabase.DSN != "" && n.config.Cluster.Token.IsSet()
}

// draw makes the process's identity: its incarnation is the writer epoch, drawn anew at every start (decisions C1).
func (n *node) draw(address func() string) func(context.Context) error {
	return func(ctx context.Context) error {
		c := n.config
		n.self, n.began = cluster.Node{ID: c.Node.ID, Version: version}, time.Now().UTC()
		for _, r := range c.Node.Roles {
			n.self.Roles = append(n.self.Roles, cluster.Role(r))
		}
		n.peers = rpc.NewPeers(c.Cluster.Token.Reveal(), rpc.Options{ForwardTimeout: c.Router.ForwardTimeout})
		if !n.clustered() {
			n.members = cluster.NewStatic(n.self)
			n.divide()
			return nil
		}
		n.self.Address, n.self.HTTPAddress = address(), c.HTTP.Addr()
		if n.has(config.QueryRole) {
			n.self.QuerySlots = c.Querier.Concurrency
		}
		store, err := clusterpg.Open(ctx, clusterpg.Options{
			DSN: c.MetaDatabase.DSN, PeerTimeout: c.Cluster.PeerTimeout,
		})
		if err != nil {
			return err
		}
		n.store = store
		if n.writer, err = n.drawEpoch(ctx); err != nil {
			return err
		}
		n.self.Incarnation = n.writer.Epoch
		m, err := cluster.New(cluster.Options{
			Self: n.self, HeartbeatInterval: c.Cluster.HeartbeatInterval, PeerTimeout: c.Cluster.PeerTimeout,
			Logger: n.component("cluster"), Registerer: n.metrics,
		}, n.store)
		if err != nil {
			return err
		}
		n.members = m
		n.divide()
		return nil
	}
}

// drawEpoch draws the epoch under which the process writes; of one that holds no rows it names the process alone.
func (n *node) drawEpoch(ctx context.Context) (catalog.Writer, error) {
	if n.has(config.IntakeRole) {
		n.makeIngest()
		return n.ingest.Draw(ctx)
	}
	w, err := n.catalog.StartWriter(ctx, n.config.Node.ID, n.self.Address)
	if err != nil {
		return w, fmt.Errorf("draw an incarnation: %w", err)
	}
	return w, n.catalog.EndWriter(ctx, w.Node, w.Epoch)
}

// divide makes this node's share of the background work of its roles. A process that is alone has all of it.
func (n *node) divide() {
	if !n.has(config.CompactRole) && !n.has(config.AlertRole) {
		return
	}
	metrics := work.NewMetrics(n.metrics)
	if n.has(config.CompactRole) {
		n.division = work.New(work.Options{
			Role: cluster.RoleCompactor, Self: n.self.ID, Source: n.members, Metrics: metrics,
			Kinds: []string{work.Compaction, work.PartitionManifest, work.IndexRebuild, work.StorageReconciler},
		})
	}
	if n.has(config.AlertRole) {
		// The role takes part and reports; what it evaluates is not built yet.
		work.New(work.Options{
			Role: cluster.RoleAlert, Self: n.self.ID, Source: n.members, Metrics: metrics, Primary: true,
			Kinds: []string{work.RuleEvaluation, work.EscalationDispatch},
		})
	}
}

// giveBack closes what draw has opened. An epoch of which no row was written ends here.
func (n *node) giveBack(ctx context.Context) error {
	if n.peers != nil {
		_ = n.peers.Close() // never fails
	}
	if n.store == nil {
		return nil
	}
	var errs []error
	if n.writer.Epoch != 0 && n.ingest != nil && !n.ingest.Started() {
		errs = append(errs, n.catalog.EndWriter(ctx, n.writer.Node, n.writer.Epoch))
	}
	return errors.Join(append(errs, n.store.Close())...)
}

// joined returns the membership of a process that is not alone.
func (n *node) joined() (*cluster.Membership, bool) {
	m, ok := n.members.(*cluster.Membership)
	return m, ok
}

// claim makes the node id this process's own. It waits while another process has it.
func (n *node) claim(ctx context.Context) error {
	m, ok := n.joined()
	if !ok {
		return nil
	}
	if err := n.readIncarnation(); err != nil {
		return err
	}
	if err := m.Claim(ctx, func(incarnation int64) bool { return incarnation == n.previous }); err != nil {
		return err
	}
	return n.writeIncarnation()
}

// member is the heartbeat of the process.
func (n *node) member(ctx context.Context) error {
	m, ok := n.joined()
	if !ok {
		<-ctx.Done()
		return nil
	}
	var tell sync.WaitGroup
	defer tell.Wait()
	told, stop := context.WithCancel(ctx)
	defer stop()
	tell.Go(func() { n.tellProgress(told, m) })
	tell.Go(func() { n.share(told) })
	return m.Run(ctx)
}

// tellProgress keeps what heartbeats say of the node up to date.
func (n *node) tellProgress(ctx context.Context, m *cluster.Membership) {
	for ctx.Err() == nil {
		if n.ingest != nil && n.serving.Load() {
			p := cluster.Progress{}
			if p.UnflushedRows, _ = n.ingest.Unflushed(); n.ingest.Ready() != nil {
				p.Phase = "replaying"
			}
			m.SetProgress(p)
		}
		pause(ctx, n.config.Cluster.HeartbeatInterval/2)
	}
}

// leave deletes the heartbeat row if that has not been done.
func (n *node) leave(ctx context.Context) error {
	if m, ok := n.joined(); ok {
		return m.Leave(ctx)
	}
	return nil
}

// incarnationFile names the incarnation that had the data directory last. Whoever holds the directory's lock knows that this one is
// dead and takes its place at once (decisions D2).
func (n *node) incarnationFile() string { return filepath.Join(n.config.Node.DataDir, "incarnation") }

func (n *node) readIncarnation() error {
	text, err := os.ReadFile(n.incarnationFile())
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the last incarnation: %w", err)
	}
	// A file that a crash has cut short tells nothing; then the start waits for the old heartbeat to go stale.
	n.previous, _ = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return nil
}

func (n *node) writeIncarnation() error {
	text := strconv.FormatInt(n.self.Incarnation, 10) + "\n"
	if err := os.WriteFile(n.incarnationFile(), []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the incarnation: %w", err)
	}
	return nil
}
