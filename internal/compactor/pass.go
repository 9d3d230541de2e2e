package compactor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/cluster/work"
	"github.com/millstream/millstream/internal/tenant"
)

// passes remembers, between the passes of one kind of work, the datasets in which nothing was due: while such a dataset's version and
// the time by which plan goes are the same, the same look finds nothing again.
type passes struct {
	mu    sync.Mutex
	quiet map[catalog.DatasetID]mark
}

// mark says as of when a dataset had no work.
type mark struct {
	version int64
	step    time.Time // start of the settleStep
}

// isQuiet reports whether the dataset is as it was when it had no work.
func (p *passes) isQuiet(d catalog.Dataset, step time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.quiet[d.ID] == mark{d.Version, step} && d.Version > 0
}

// keep replaces what is remembered.
func (p *passes) keep(quiet map[catalog.DatasetID]mark) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quiet = quiet
}

// forget makes the next pass look at everything.
func (p *passes) forget() { p.keep(nil) }

// look does what is due in a dataset. It returns the version as of which nothing was, 0 when something was done or has failed.
type look func(ctx context.Context, d catalog.Dataset) (version int64, err error)

// eachDataset is one pass of a kind of work over this node's datasets, limit of them at once.
func (c *Compactor) eachDataset(ctx context.Context, p *passes, datasets []catalog.Dataset, limit int, do look) error {
	step := c.deps.Clock.Now().Truncate(settleStep)
	quiet := make(map[catalog.DatasetID]mark)
	var mu sync.Mutex
	var errs []error
	var group errgroup.Group
	group.SetLimit(limit)
	for _, d := range datasets {
		if ctx.Err() != nil {
			break
		}
		if p.isQuiet(d, step) {
			mu.Lock()
			quiet[d.ID] = mark{d.Version, step}
			mu.Unlock()
			continue
		}
		group.Go(func() error {
			version, err := do(ctx, d)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, fmt.Errorf("%s/%s/%s: %w", d.Org, d.Signal, d.Name, err))
			} else if version > 0 {
				quiet[d.ID] = mark{version, step}
			}
			return nil
		})
	}
	_ = group.Wait() // errors are in errs
	p.keep(quiet)
	return errors.Join(errs...)
}

// ownedDatasets lists the datasets whose work of a kind is this node's, and shows their number.
func (c *Compactor) ownedDatasets(ctx context.Context, kind string) ([]catalog.Dataset, error) {
	datasets, err := c.deps.Catalog.Datasets(ctx, "")
	if err != nil {
		return nil, err
	}
	units := c.units(kind)
	owned := datasets[:0]
	for _, d := range datasets {
		if units.owns(strconv.FormatInt(int64(d.ID), 10)) {
			owned = append(owned, d)
		}
	}
	units.done()
	return owned, nil
}

// ownedOrgs lists the datasets of the orgs whose work of a kind is this node's, by org, and shows the number of the orgs.
func (c *Compactor) ownedOrgs(ctx context.Context, kind string) (map[tenant.ID][]catalog.Dataset, error) {
	datasets, err := c.deps.Catalog.Datasets(ctx, "")
	if err != nil {
		return nil, err
	}
	units := c.units(kind)
	owned := make(map[tenant.ID][]catalog.Dataset)
	mine := make(map[tenant.ID]bool)
	for _, d := range datasets {
		if _, seen := mine[d.Org]; !seen {
			mine[d.Org] = units.owns(string(d.Org))
		}
		if mine[d.Org] {
			owned[d.Org] = append(owned[d.Org], d)
		}
	}
	units.done()
	return owned, nil
}

// live returns the live segments of a dataset and the version as of which they are.
func (c *Compactor) live(ctx context.Context, id catalog.DatasetID) ([]catalog.Segment, int64, error) {
	s, err := c.deps.Catalog.Snapshot(ctx, catalog.SnapshotQuery{
		Datasets: []catalog.DatasetID{id}, Start: math.MinInt64, End: math.MaxInt64,
	})
	return s.Segments, s.Versions[id], err
}

// units is one pass over the units of a kind of work.
type units struct{ round *work.Round }

func (c *Compactor) units(kind string) units {
	if c.deps.Division == nil {
		return units{}
	}
	return units{c.deps.Division.Round(kind)}
}

// owns reports whether a unit is this node's.
func (u units) owns(unit string) bool { return u.round == nil || u.round.Owns(unit) }

// done shows in the metrics how many units were this node's.
func (u units) done() {
	if u.round != nil {
		u.round.Done()
	}
}
