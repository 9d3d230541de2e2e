package compactor

import (
	"context"
	"errors"
	"time"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/sqlplan"
	"github.com/millstream/millstream/internal/tenant"
)

// Expire retires what retention no longer keeps. Every node does it for all datasets: a repetition changes nothing.
func (c *Compactor) Expire(ctx context.Context) error {
	datasets, err := c.deps.Catalog.Datasets(ctx, "")
	if err != nil {
		return err
	}
	databases := make(map[tenant.ID][]catalog.Database)
	var errs []error
	for _, d := range datasets {
		if _, ok := databases[d.Org]; !ok {
			if databases[d.Org], err = c.deps.Catalog.Databases(ctx, d.Org); err != nil {
				return err
			}
		}
		keep := c.retention(d, databases[d.Org])
		if keep <= 0 {
			continue
		}
		n, err := c.deps.Catalog.Expire(ctx, d.ID, c.deps.Clock.Now().Add(-keep))
		errs = append(errs, err)
		if n > 0 {
			c.metrics.expired.Add(float64(n))
			c.deps.Logger.Info("segments expired", "org", d.Org, "database", d.Database, "stream", d.Name, "segments", n, "retention", keep)
		}
	}
	return errors.Join(errs...)
}

// retention returns the shortest retention that applies to a dataset, 0 when none does.
func (c *Compactor) retention(d catalog.Dataset, databases []catalog.Database) time.Duration {
	keep := sqlplan.ShorterRetention(c.opts.Retention(d.Org), d.Options)
	for _, db := range databases {
		if db.Name == d.Database {
			keep = sqlplan.ShorterRetention(keep, db.Options)
		}
	}
	return keep
}

// Delete removes the objects of segments that were retired long enough ago, then their rows.
func (c *Compactor) Delete(ctx context.Context) error {
	before := c.deps.Clock.Now().Add(-c.opts.DeletionGrace)
	for {
		segments, err := c.deps.Catalog.Retired(ctx, before, batchSize)
		if err != nil || len(segments) == 0 {
			return err
		}
		ids := make([]catalog.SegmentID, 0, len(segments))
		for _, s := range segments {
			if err := c.deleteObjects(ctx, s); err != nil {
				return errors.Join(err, c.deps.Catalog.Forget(ctx, ids))
			}
			ids = append(ids, s.ID)
		}
		if err := c.deps.Catalog.Forget(ctx, ids); err != nil {
			return err
		}
	}
}

func (c *Compactor) deleteObjects(ctx context.Context, s catalog.Segment) error {
	if err := c.deps.Objects.Delete(ctx, s.Key); err != nil {
		return err
	}
	c.metrics.deleted.Inc()
	if s.IndexKey == "" {
		return nil
	}
	return c.deps.Objects.Delete(ctx, s.IndexKey)
}
