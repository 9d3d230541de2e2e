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
	"github.com/millstream/millstream/internal/objstore"
	"github.com/millstream/millstream/internal/tenant"
)

const (
	// lookEvery is how often the objects of an org are compared with the catalog.
	lookEvery = time.Hour
	// straysEvery is how often the whole store is listed for folders of orgs that have no dataset any more.
	straysEvery = 24 * time.Hour
)

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
		if err := c.lookAt(ctx, org, orgs[org], len(orgs)); err != nil {
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
