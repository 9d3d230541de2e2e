package app

import (
	"context"
	"strconv"

	"github.com/millstream/millstream/internal/catalog/optioncache"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/quota"
	"github.com/millstream/millstream/internal/sqlplan"
	"github.com/millstream/millstream/internal/tenant"
)

// rowLimits is what client writes are held to by the options of their databases.
//
//	catalog ─► optioncache ─► quota.Rows ◄─ ingress.Front
type rowLimits struct {
	options *optioncache.Cache
	rows    *quota.Rows
}

// startRowLimits reads the limits once, so that no write is taken without them.
func (n *node) startRowLimits(ctx context.Context) error {
	n.rowLimits.options = optioncache.New(n.catalog, optioncache.Options{
		Clock: clock.System{}, Logger: n.component("limits"), Changed: func() { n.rowLimits.rows.Refresh() },
	})
	n.rowLimits.rows = quota.NewRows(quota.RowsOptions{Clock: clock.System{}, Limit: n.rowLimits.limitOf, Registerer: n.metrics})
	return n.rowLimits.options.Load(ctx)
}

// runRowLimits keeps the limits fresh.
func (n *node) runRowLimits(ctx context.Context) error { return n.rowLimits.options.Run(ctx) }

// of returns the options of a database from memory.
func (l *rowLimits) of(org tenant.ID, database string) map[string]string {
	return l.options.Database(org, database).Options
}

// limitOf returns the row limit of a database from memory. A text that a newer program wrote and this one cannot read is no limit.
func (l *rowLimits) limitOf(name quota.Database) quota.RowLimit {
	d := l.options.Database(name.Org, name.Name)
	limit, _ := strconv.ParseUint(d.Options[sqlplan.OptionRowsRateLimit], 10, 64)
	return quota.RowLimit{PerSecond: limit, ID: int64(d.ID)}
}

// reload makes a change of options that went through this process count at once. If it fails the change counts at the next reading.
func (l *rowLimits) reload(ctx context.Context) {
	if l.options != nil && l.options.Load(ctx) != nil {
		l.options.Soon()
	}
}
