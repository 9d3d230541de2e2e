package compactor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/cluster/work"
	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/searchindex"
	"github.com/millstream/millstream/internal/signal"
)

// Compact merges small files inside the hours and days that still get rows. A source that cannot be read is left alone and reported,
// never retired.
func (c *Compactor) Compact(ctx context.Context) error {
	return c.mergeAll(ctx, work.Compaction, &c.compaction, inOpen)
}

// Seal merges the files of closed days and months into the few that stay: the manifest of a sealed partition is their catalog rows
// (docs/adr/0010). A source that cannot be read is left alone and reported, never retired.
func (c *Compactor) Seal(ctx context.Context) error {
	return c.mergeAll(ctx, work.PartitionManifest, &c.sealing, inClosed)
}

// mergeAll does the merges of one stage that are due, of several datasets at once and of one dataset one after the other.
func (c *Compactor) mergeAll(ctx context.Context, kind string, p *passes, s stage) error {
	datasets, err := c.ownedDatasets(ctx, kind)
	if err != nil {
		return err
	}
	return c.eachDataset(ctx, p, datasets, c.opts.MaxConcurrentGroups, func(ctx context.Context, d catalog.Dataset) (int64, error) {
		return c.mergeDataset(ctx, d, s)
	})
}

func (c *Compactor) mergeDataset(ctx context.Context, d catalog.Dataset, s stage) (version int64, err error) {
	segments, version, err := c.live(ctx, d.ID)
	if err != nil {
		return 0, err
	}
	usable := slices.DeleteFunc(segments, func(s catalog.Segment) bool {
		return c.isBroken(s.ID) || s.Format != columnar.Writable
	})
	groups := plan(s, usable, c.deps.Clock.Now(), c.opts.TargetSize)
	if len(groups) == 0 {
		return version, nil
	}
	var errs []error
	for _, g := range groups {
		if ctx.Err() != nil {
			break
		}
		if err := c.merge(ctx, d, g); err != nil {
			errs = append(errs, fmt.Errorf("merge %d files: %w", len(g.sources), err))
		}
	}
	return 0, errors.Join(errs...)
}

// merge makes one file of a group and replaces the group's segments by it.
func (c *Compactor) merge(ctx context.Context, d catalog.Dataset, g group) error {
	if err := c.checkRoom(g); err != nil {
		return err
	}
	paths, release, err := c.pin(ctx, g.sources)
	if err != nil {
		return err
	}
	defer release()
	g.paths = paths
	g, bytes, err := c.fit(ctx, g)
	if err != nil {
		return err
	}
	bytes = min(bytes, c.opts.MemoryLimit)
	if err := c.memory.Acquire(ctx, bytes); err != nil {
		return err
	}
	c.metrics.memory.Add(float64(bytes))
	defer func() {
		c.memory.Release(bytes)
		c.metrics.memory.Sub(float64(bytes))
	}()
	return c.mergeFitting(ctx, d, g)
}

// fit shortens a group until its merge keeps to the memory limit, and returns the bytes that it takes.
func (c *Compactor) fit(ctx context.Context, g group) (_ group, bytes int64, err error) {
	rowGroups := make([]int64, 0, len(g.paths))
	for i, path := range g.paths {
		b, err := columnar.RowGroupBytes(ctx, path)
		if err != nil {
			return g, 0, fmt.Errorf("weigh %s: %w", g.sources[i].Key, err)
		}
		rowGroups = append(rowGroups, b)
		if i >= 2 && columnar.MergeBytes(rowGroups) > c.opts.MemoryLimit {
			g.sources, g.paths, rowGroups = g.sources[:i], g.paths[:i], rowGroups[:i]
			break
		}
	}
	return g, columnar.MergeBytes(rowGroups), nil
}

// mergeFitting does a merge whose memory is reserved.
func (c *Compactor) mergeFitting(ctx context.Context, d catalog.Dataset, g group) error {
	id, err := c.deps.Catalog.NextSegments(ctx, 1)
	if err != nil {
		return err
	}
	staging := filepath.Join(c.opts.StagingDir, fmt.Sprintf("merge-%016x.parquet", int64(id)))
	defer os.Remove(staging) //nolint:errcheck // a leftover is removed at the next start
	added, index, err := c.write(ctx, d, g, id, staging)
	if err != nil {
		return err
	}
	u := c.begin()
	if err := c.deps.Objects.PutFile(ctx, added.Key, staging); err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	if index != nil {
		added.IndexKey, added.Index = strings.TrimSuffix(added.Key, columnar.DataSuffix)+columnar.IndexSuffix, int64(len(index))
		if err := c.deps.Objects.Put(ctx, added.IndexKey, bytes.NewReader(index), added.Index); err != nil {
			return fmt.Errorf("upload the index: %w", err)
		}
	}
	return c.replace(ctx, d, g, added, u)
}

// write merges into a staging file. It returns the segment to be, without an index, and the bytes of its index object.
func (c *Compactor) write(ctx context.Context, d catalog.Dataset, g group, id catalog.SegmentID, staging string) (
	seg catalog.Segment, index []byte, err error,
) {
	sources := make([]columnar.Source, len(g.sources))
	var rows int64
	level := 0
	for i, s := range g.sources {
		sources[i] = columnar.Source{Path: g.paths[i], Segment: s.ID, Columns: s.Columns}
		rows += s.Rows
		level = max(level, s.Level)
	}
	opts := columnar.WriteOptions{Segment: id, Level: mergeLevel, Index: true}
	if d.Signal == signal.Metrics {
		opts.Sort, opts.Index = columnar.BySeries, false
	}
	info, err := columnar.Merge(ctx, staging, sources, opts)
	if err != nil {
		return seg, nil, err
	}
	if info.Rows+info.Duplicates != rows {
		return seg, nil, fault.New(fault.Internal, "merging gave %d rows instead of %d", info.Rows+info.Duplicates, rows)
	}
	seg = catalog.Segment{
		ID: id, Dataset: d.ID, Org: d.Org, Key: columnar.ObjectKey(d.Org, d.Signal, d.ID, g.partition, id),
		Bytes: info.Bytes, Rows: info.Rows, MinTime: info.MinTime, MaxTime: info.MaxTime, Partition: g.partition,
		Level: level + 1, Format: info.Format, Checksum: info.Checksum, RowGroups: info.RowGroups, Columns: info.Columns,
	}
	if info.Index != nil {
		index = info.Index.Finish(searchindex.Identity{Key: seg.Key, Checksum: seg.Checksum})
	}
	return seg, index, nil
}

// replace swaps the sources for the merged segment in one step of the catalog. Whoever comes second finds a source gone and drops its
// own objects.
func (c *Compactor) replace(ctx context.Context, d catalog.Dataset, g group, added catalog.Segment, u upload) error {
	old := make([]catalog.SegmentID, len(g.sources))
	for i, s := range g.sources {
		old[i] = s.ID
	}
	published, err := c.register(ctx, u, func() error {
		return c.deps.Catalog.Replace(ctx, d.ID, old, []catalog.Segment{added})
	})
	switch {
	case err == nil && published:
		c.metrics.merged.Add(float64(len(old)))
		c.deps.Logger.Debug("files merged", "org", string(d.Org), "stream", d.Name, "files", len(old), "rows", added.Rows, "bytes", added.Bytes)
		return nil
	case published:
		return err // the outcome is unknown, so the objects may be registered: the reconciler decides about them
	default:
		return errors.Join(err, c.drop(ctx, added.Key, added.IndexKey))
	}
}
