package compactor

import (
	"context"
	"time"

	"github.com/millstream/millstream/internal/objstore"
)

// sweep deletes listed objects that are older than the grace and that no segment has, live or retired.
type sweep struct {
	c      *Compactor
	before time.Time
	keys   []string
}

func (c *Compactor) newSweep() *sweep {
	return &sweep{c: c, before: c.deps.Clock.Now().Add(-c.opts.OrphanGrace)}
}

// add takes an object of the listing.
func (s *sweep) add(ctx context.Context, e objstore.Entry) error {
	if !e.Modified.Before(s.before) {
		return nil
	}
	if s.keys = append(s.keys, e.Key); len(s.keys) < batchSize {
		return nil
	}
	return s.flush(ctx)
}

// flush asks the catalog and deletes.
func (s *sweep) flush(ctx context.Context) error {
	if len(s.keys) == 0 {
		return nil
	}
	known, err := s.c.deps.Catalog.KnownObjects(ctx, s.keys)
	if err != nil {
		return err
	}
	for _, key := range s.keys {
		if known[key] {
			continue
		}
		if err := s.c.deps.Objects.Delete(ctx, key); err != nil {
			return err
		}
		s.c.metrics.orphans.Inc()
		s.c.metrics.issues.WithLabelValues(kindObject, reasonOrphan).Inc()
		s.c.deps.Logger.Info("orphan object deleted", "key", key)
	}
	s.keys = s.keys[:0]
	return nil
}
