package compactor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/cluster/work"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/objstore"
	"github.com/millstream/millstream/internal/tenant"
)

const (
	// lookEvery is how often the objects of an org are compared with the catalog.
	lookEvery = time.Hour
	// straysEvery is how often the whole store is listed for folders of orgs that have no dataset any more.
	straysEvery = 24 * time.Hour
)

// object is what the reconciler keeps of a live segment.
type object struct {
	id            catalog.SegmentID
	org           tenant.ID
	dataset       catalog.DatasetID
	key, indexKey string
	bytes, index  int64
	checksum      string

	seen, indexSeen bool // in the listing
}

// of returns the key and the size of the segment's data or index object.
func (o object) of(kind string) (key string, size int64) {
	if kind == kindIndex {
		return o.indexKey, o.index
	}
	return o.key, o.bytes
}

// Reconcile compares the objects of this node's orgs with the catalog, each org once an hour. What a live segment lacks is reported and
// never retired; a missing or damaged index is built again by RebuildIndexes; objects that no segment has are deleted when they are
// older than the grace.
func (c *Compactor) Reconcile(ctx context.Context) error {
	orgs, err := c.ownedOrgs(ctx, work.StorageReconciler)
	if err != nil {
		return err
	}
	now := c.deps.Clock.Now()
	due := c.dueOrgs(orgs, now)
	var errs []error
	for _, org := range due {
		if ctx.Err() != nil {
			return errors.Join(errs...)
		}
		if err := c.reconcileOrg(ctx, org, orgs[org], len(orgs)); err != nil {
			errs = append(errs, fmt.Errorf("reconcile org %s: %w", org, err))
			continue
		}
		c.setLooked(org, now)
	}
	if c.straysDue(now) {
		err := c.sweepStrays(ctx, orgs)
		if err == nil {
			c.setStrays(now)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// dueOrgs returns the orgs whose last look is an hour ago, and forgets when those of other nodes were looked at. Files that could not be
// read get another chance.
func (c *Compactor) dueOrgs(orgs map[tenant.ID][]catalog.Dataset, now time.Time) []tenant.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.mu.looked, func(org tenant.ID, _ time.Time) bool { return orgs[org] == nil })
	var due []tenant.ID
	for org := range orgs {
		if at, ok := c.mu.looked[org]; !ok || now.Sub(at) >= lookEvery {
			due = append(due, org)
		}
	}
	if len(due) > 0 && len(c.mu.broken) > 0 {
		clear(c.mu.broken)
		c.compaction.forget()
		c.sealing.forget()
		c.indexing.forget()
	}
	slices.Sort(due)
	return due
}

func (c *Compactor) setLooked(org tenant.ID, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.looked[org] = at
}

func (c *Compactor) straysDue(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return now.Sub(c.mu.strays) >= straysEvery
}

func (c *Compactor) setStrays(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.strays = at
}

// reconcileOrg takes the catalog's picture first and lists the objects then: what is registered meanwhile is not missed, and what is
// deleted meanwhile is asked about again.
func (c *Compactor) reconcileOrg(ctx context.Context, org tenant.ID, datasets []catalog.Dataset, orgs int) error {
	var objects []object
	for _, d := range datasets {
		segments, _, err := c.live(ctx, d.ID)
		if err != nil {
			return err
		}
		for _, s := range segments {
			objects = append(objects, object{
				id: s.ID, org: s.Org, dataset: s.Dataset, key: s.Key, indexKey: s.IndexKey, bytes: s.Bytes, index: s.Index,
				checksum: s.Checksum,
			})
		}
	}
	if err := c.listOrg(ctx, org, objects); err != nil {
		return err
	}
	return errors.Join(c.reportMissing(ctx, objects), c.sample(ctx, objects, orgs))
}

// listOrg marks the objects of live segments as seen and sweeps the others.
func (c *Compactor) listOrg(ctx context.Context, org tenant.ID, objects []object) error {
	places := make(map[string]int, 2*len(objects))
	for i := range objects {
		places[objects[i].key] = i
		if objects[i].indexKey != "" {
			places[objects[i].indexKey] = i
		}
	}
	s := c.newSweep()
	err := c.deps.Objects.List(ctx, string(org)+"/", func(e objstore.Entry) error {
		i, live := places[e.Key]
		switch {
		case !live:
			return s.add(ctx, e)
		case objects[i].key == e.Key:
			objects[i].seen = true
		default:
			objects[i].indexSeen = true
		}
		return nil
	})
	return errors.Join(err, s.flush(ctx))
}

// reportMissing asks again about objects that were not listed, since their segments may have been retired and deleted meanwhile.
func (c *Compactor) reportMissing(ctx context.Context, objects []object) error {
	var errs []error
	for _, o := range objects {
		if !o.seen {
			_, err := c.inspect(ctx, o, kindSegment)
			errs = append(errs, err)
		}
		if !o.indexSeen && o.indexKey != "" {
			_, err := c.inspect(ctx, o, kindIndex)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// inspect reports an object that is missing or of another size. ok is false when it is.
func (c *Compactor) inspect(ctx context.Context, o object, kind string) (ok bool, err error) {
	key, size := o.of(kind)
	info, err := c.deps.Objects.Stat(ctx, key)
	switch {
	case fault.Is(err, fault.NotFound):
		return false, c.report(ctx, o, kind, reasonMissing)
	case err != nil:
		return false, err
	case info.Size != size:
		return false, c.report(ctx, o, kind, reasonSize)
	default:
		return true, nil
	}
}

// report counts and logs what is wrong with a live segment. One that is not live any more is not reported.
func (c *Compactor) report(ctx context.Context, o object, kind, reason string) error {
	segments, _, err := c.live(ctx, o.dataset)
	if err != nil {
		return err
	}
	lives := slices.ContainsFunc(segments, func(s catalog.Segment) bool {
		return s.ID == o.id && (kind != kindIndex || s.IndexKey == o.indexKey)
	})
	if !lives {
		return nil
	}
	c.metrics.issues.WithLabelValues(kind, reason).Inc()
	key, _ := o.of(kind)
	if kind == kindIndex {
		c.suspectIndex(o)
	}
	c.deps.Logger.Error("stored object is not what the catalog says", "kind", kind, "reason", reason, "org", string(o.org),
		"dataset", int64(o.dataset), "segment", int64(o.id), "key", key)
	return nil
}

// sweepStrays deletes leftovers in the folders of orgs without a dataset.
func (c *Compactor) sweepStrays(ctx context.Context, orgs map[tenant.ID][]catalog.Dataset) error {
	units := c.units("") // such an org counts for nobody
	mine := make(map[string]bool)
	s := c.newSweep()
	err := c.deps.Objects.List(ctx, "", func(e objstore.Entry) error {
		org, _, found := strings.Cut(e.Key, "/")
		if !found || orgs[tenant.ID(org)] != nil {
			return nil
		}
		if _, known := mine[org]; !known {
			mine[org] = units.owns(org)
		}
		if !mine[org] {
			return nil
		}
		return s.add(ctx, e)
	})
	return errors.Join(err, s.flush(ctx))
}
