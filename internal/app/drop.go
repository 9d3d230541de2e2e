package app

import (
	"context"
	"sync"
	"time"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/tenant"
)

// dropNotifier makes all writers ask the catalog again after a database was dropped, so that none of them writes to the dropped one
// when another of its name is made. Options that were changed through this process count here before the statement is answered.
type dropNotifier struct {
	catalog.Catalog
	node *node
}

// forgetTimeout bounds how long a drop waits for intake nodes. One that does not answer keeps the dropped database until its next
// commit tells it.
const forgetTimeout = time.Second

// DropDatabase implements catalog.Names.
func (d dropNotifier) DropDatabase(ctx context.Context, org tenant.ID, name string) error {
	err := d.Catalog.DropDatabase(ctx, org, name)
	if d.node.ingest != nil {
		d.node.ingest.ForgetDatabase(org, name)
	}
	d.node.tellDropped(ctx, org, name)
	d.node.writeLimits.reload(ctx)
	return err
}

// CreateDatabase implements catalog.Names.
func (d dropNotifier) CreateDatabase(ctx context.Context, org tenant.ID, name string, options map[string]string) (catalog.Database, error) {
	created, err := d.Catalog.CreateDatabase(ctx, org, name, options)
	d.node.writeLimits.reload(ctx)
	return created, err
}

// AlterDatabase implements catalog.Names.
func (d dropNotifier) AlterDatabase(ctx context.Context, org tenant.ID, name string, options map[string]*string) (catalog.Database, error) {
	altered, err := d.Catalog.AlterDatabase(ctx, org, name, options)
	d.node.writeLimits.reload(ctx)
	return altered, err
}

// tellDropped tells the other intake nodes.
func (n *node) tellDropped(ctx context.Context, org tenant.ID, name string) {
	view := n.members.Current()
	if view == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, forgetTimeout)
	defer cancel()
	var tell sync.WaitGroup
	for _, m := range view.Members[cluster.RoleIntake] {
		if m.ID == n.self.ID {
			continue
		}
		tell.Go(func() {
			peer, err := n.peers.Peer(m.Address)
			if err == nil {
				err = peer.ForgetDatabase(ctx, org, name)
			}
			if err != nil {
				n.logger.Warn("an intake node was not told of a dropped database", "node", m.ID, "org", string(org), "database", name, "error", err)
			}
		})
	}
	tell.Wait()
}
