package compactor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/cluster/work"
	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/searchindex"
	"github.com/millstream/millstream/internal/signal"
)

// maxRebuilds bounds the indexes of one dataset that a pass builds, so that other duties have their turn.
const maxRebuilds = 64

// suspect is a segment whose index object is missing or damaged.
type suspect struct {
	dataset catalog.DatasetID
	key     string // of the index object
}

// RebuildIndexes builds the search index of segments of logs and traces that have none, or one whose object the reconciler has found
// missing or damaged. The new object has a key of its own and becomes the segment's by one step of the catalog; whoever comes second
// drops its own. The old object, if there is one, is nobody's then and goes as orphans do.
func (c *Compactor) RebuildIndexes(ctx context.Context) error {
	orgs, err := c.ownedOrgs(ctx, work.IndexRebuild)
	if err != nil {
		return err
	}
	var indexed []catalog.Dataset
	for _, datasets := range orgs {
		for _, d := range datasets {
			if d.Signal != signal.Metrics {
				indexed = append(indexed, d)
			}
		}
	}
	return c.eachDataset(ctx, &c.indexing, indexed, 1, c.rebuildDataset)
}

func (c *Compactor) rebuildDataset(ctx context.Context, d catalog.Dataset) (version int64, err error) {
	segments, version, err := c.live(ctx, d.ID)
	if err != nil {
		return 0, err
	}
	built := 0
	var errs []error
	for _, s := range segments {
		if !c.needsIndex(s) || c.isBroken(s.ID) {
			continue
		}
		built++
		if built > maxRebuilds || ctx.Err() != nil {
			break
		}
		if err := c.rebuildIndex(ctx, s); err != nil {
			errs = append(errs, fmt.Errorf("index segment %d: %w", s.ID, err))
			continue
		}
		c.clearSuspect(s.ID)
	}
	if built > 0 {
		return 0, errors.Join(errs...)
	}
	c.clearSuspects(d.ID)
	return version, nil
}

// rebuildIndex builds and publishes the index of one segment.
func (c *Compactor) rebuildIndex(ctx context.Context, s catalog.Segment) error {
	paths, release, err := c.pin(ctx, []catalog.Segment{s})
	if err != nil {
		return err
	}
	defer release()
	b, err := columnar.BuildIndex(ctx, paths[0], s.Columns)
	if err != nil {
		return err
	}
	number, err := c.deps.Catalog.NextSegments(ctx, 1)
	if err != nil {
		return err
	}
	object := b.Finish(searchindex.Identity{Key: s.Key, Checksum: s.Checksum})
	key := fmt.Sprintf("%s-%016x%s", strings.TrimSuffix(s.Key, columnar.DataSuffix), int64(number), columnar.IndexSuffix)
	u := c.begin()
	if err := c.deps.Objects.Put(ctx, key, bytes.NewReader(object), int64(len(object))); err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	published, err := c.register(ctx, u, func() error {
		return c.deps.Catalog.SetIndex(ctx, s.ID, s.IndexKey, key, int64(len(object)))
	})
	if !published {
		return errors.Join(err, c.drop(ctx, key))
	}
	if err == nil {
		c.metrics.indexes.Inc()
		c.deps.Logger.Info("search index built", "org", string(s.Org), "segment", int64(s.ID), "key", key, "old_key", s.IndexKey)
	}
	return err
}

// needsIndex reports whether a segment has no index, or the one that the reconciler has found missing or damaged.
func (c *Compactor) needsIndex(s catalog.Segment) bool {
	if s.IndexKey == "" {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.mu.suspects[s.ID]
	return ok && found.key == s.IndexKey
}

// suspectIndex hands a segment over to RebuildIndexes.
func (c *Compactor) suspectIndex(s object) {
	c.mu.Lock()
	c.mu.suspects[s.id] = suspect{s.dataset, s.indexKey}
	c.mu.Unlock()
	c.indexing.forget()
}

func (c *Compactor) clearSuspect(id catalog.SegmentID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.mu.suspects, id)
}

// clearSuspects drops what is left of a dataset: segments that are not live any more, or have got another index.
func (c *Compactor) clearSuspects(dataset catalog.DatasetID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, s := range c.mu.suspects {
		if s.dataset == dataset {
			delete(c.mu.suspects, id)
		}
	}
}
