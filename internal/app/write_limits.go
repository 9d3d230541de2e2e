package app

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millstream/millstream/internal/catalog/optioncache"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/quota"
	quotapg "github.com/millstream/millstream/internal/quota/postgres"
	"github.com/millstream/millstream/internal/quota/saved"
	"github.com/millstream/millstream/internal/quota/share"
	"github.com/millstream/millstream/internal/sqlplan"
	"github.com/millstream/millstream/internal/tenant"
)

// writeLimits is the rates that client writes are held to: rows by the options of their databases, bytes by the limits of their orgs.
//
//	catalog ─► optioncache ─► quota.Rows  ◄─ ingress.Front
//	           limits.Source ► quota.Bytes ◄─┘
//	others  ◄─ quotapg ◄─► share.Keeper ◄─► both              (not in a process that is alone)
//	                       saved.Recorder ◄─ quota.Rows        data_dir/quota.json
type writeLimits struct {
	options  *optioncache.Cache
	rows     *quota.Rows
	bytes    *quota.Bytes
	store    *quotapg.Store // nil: alone
	keeper   *share.Keeper  // nil: alone
	recorder *saved.Recorder
}

// startWriteLimits reads the limits and what the process before this one owed, so that no write is taken without them.
func (n *node) startWriteLimits(ctx context.Context) error {
	w := &n.writeLimits
	system := clock.System{}
	w.options = optioncache.New(n.catalog, optioncache.Options{
		Clock: system, Logger: n.component("limits"), Changed: func() { w.rows.Refresh() },
	})
	options := quota.RowsOptions{
		Clock: system, Limit: w.limitOf, Registerer: n.metrics, Owing: func() { w.recorder.Soon() },
	}
	w.bytes.Register(n.metrics)
	if n.clustered() {
		options.Frontends = n.frontends
		options.Wanted = func(b quota.Budget) { w.keeper.Wanted(b) }
		w.bytes.Divide(options.Wanted, options.Frontends)
	}
	w.rows = quota.NewRows(options)
	w.recorder = saved.NewRecorder(saved.Recorder{
		Path: filepath.Join(n.config.Node.DataDir, "quota.json"), Buckets: w.rows, Now: w.now, Clock: system, Logger: n.component("limits"),
	})
	if n.clustered() {
		if err := n.startKeeper(ctx); err != nil {
			return err
		}
	}
	n.restoreRows()
	return w.options.Load(ctx)
}

// startKeeper begins to divide limits with other processes, and takes over what this node owed.
func (n *node) startKeeper(ctx context.Context) error {
	w := &n.writeLimits
	var err error
	if w.store, err = quotapg.Open(ctx, quotapg.Options{DSN: n.config.MetaDatabase.DSN, Logger: n.component("limits")}); err != nil {
		return err
	}
	w.keeper = share.New(share.Options{
		Self:  share.Frontend{ID: n.self.ID, Incarnation: n.self.Incarnation},
		Clock: clock.System{}, Logger: n.component("limits"), Registerer: n.metrics,
	}, w.store, w.rows, w.bytes)
	owed, now, err := w.keeper.Inherited(ctx)
	if err != nil {
		return errors.Join(err, w.store.Close())
	}
	w.rows.Restore(owed, now, false)
	return nil
}

// restoreRows reads what the process before this one wrote down.
func (n *node) restoreRows() {
	w := &n.writeLimits
	state, err := saved.Read(w.recorder.Path)
	if err != nil {
		n.logger.Warn("debts of databases are not known; their buckets begin empty", "error", err)
	}
	w.rows.Restore(state.Tokens, w.now(), !state.Clean)
}

// runWriteLimits keeps limits and shares fresh and debts written down.
func (n *node) runWriteLimits(ctx context.Context) error {
	w := &n.writeLimits
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return w.options.Run(ctx) })
	g.Go(func() error { return w.recorder.Run(ctx) })
	if w.keeper != nil {
		g.Go(func() error { return w.keeper.Run(ctx) })
	}
	return g.Wait()
}

// stopWriteLimits writes debts down for the next process.
func (n *node) stopWriteLimits(ctx context.Context) error {
	err := n.writeLimits.recorder.Close()
	n.leaveShares(ctx)
	if n.writeLimits.store != nil {
		err = errors.Join(err, n.writeLimits.store.Close())
	}
	return err
}

// leaveShares gives the shares of limits back, so that others need not wait until this process is seen to be gone. What it still takes is
// held to the last shares. A repetition does nothing new.
func (n *node) leaveShares(ctx context.Context) {
	if n.writeLimits.keeper == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	if err := n.writeLimits.keeper.Leave(ctx); err != nil {
		n.logger.Warn("shares of limits are not given back; others take them when they have not heard of this node for a while", "error", err)
	}
}

// leaveTimeout bounds how long giving back shares may hold up a stop.
const leaveTimeout = 2 * time.Second

// frontends is how many processes take client writes: routers, and intake nodes over OTLP/gRPC.
func (n *node) frontends() int {
	view := n.members.Current()
	if view == nil {
		return 1
	}
	ids := map[string]struct{}{n.self.ID: {}}
	for _, role := range []cluster.Role{cluster.RoleRouter, cluster.RoleIntake} {
		for _, m := range view.Members[role] {
			ids[m.ID] = struct{}{}
		}
	}
	return len(ids)
}

// now is the clock of what is written down: the database's, or that of the machine of a process that is alone.
func (w *writeLimits) now() time.Time {
	if w.keeper != nil {
		return w.keeper.Now()
	}
	return time.Now().UTC()
}

// of returns the options of a database from memory.
func (w *writeLimits) of(org tenant.ID, database string) map[string]string {
	return w.options.Database(org, database).Options
}

// limitOf returns the row limit of a database from memory. A text that a newer program wrote and this one cannot read is no limit.
func (w *writeLimits) limitOf(name quota.Database) quota.RowLimit {
	d := w.options.Database(name.Org, name.Name)
	limit, _ := strconv.ParseUint(d.Options[sqlplan.OptionRowsRateLimit], 10, 64)
	return quota.RowLimit{PerSecond: limit, ID: int64(d.ID)}
}

// reload makes a change of options that went through this process count at once. If it fails the change counts at the next reading.
func (w *writeLimits) reload(ctx context.Context) {
	if w.options != nil && w.options.Load(ctx) != nil {
		w.options.Soon()
	}
}
