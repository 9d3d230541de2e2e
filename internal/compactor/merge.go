package compactor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
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

// Files makes the data files of segments readable on this machine.
type Files interface {
	// Pin returns the path of a local file for each segment, in order. The files stay until release is called, once.
	Pin(ctx context.Context, segments []catalog.Segment) (paths []string, release func(), err error)
}

// replaceAttempts is how often a replacement of unknown outcome is asked again.
const replaceAttempts = 5

// Compact merges small files of all datasets, one merge after the other. A source that cannot be read is left alone and reported,
// never retired.
func (c *Compactor) Compact(ctx context.Context) error {
	datasets, err := c.deps.Catalog.Datasets(ctx, "")
	if err != nil {
		return err
	}
	var errs []error
	units := c.units(work.Compaction)
	for _, d := range datasets {
		if !units.owns(unitOf(d)) {
			continue
		}
		errs = append(errs, c.compactDataset(ctx, d))
		if ctx.Err() != nil {
			return errors.Join(errs...)
		}
	}
	units.done()
	return errors.Join(errs...)
}

func (c *Compactor) compactDataset(ctx context.Context, d catalog.Dataset) error {
	snapshot, err := c.deps.Catalog.Snapshot(ctx, catalog.SnapshotQuery{
		Datasets: []catalog.DatasetID{d.ID}, Start: math.MinInt64, End: math.MaxInt64,
	})
	if err != nil {
		return err
	}
	usable := slices.DeleteFunc(snapshot.Segments, func(s catalog.Segment) bool {
		_, broken := c.broken[s.ID]
		return broken || s.Format != columnar.Writable
	})
	var errs []error
	for _, g := range plan(usable, c.deps.Clock.Now(), c.opts.TargetSize) {
		if ctx.Err() != nil {
			break
		}
		if err := c.merge(ctx, d, g); err != nil {
			errs = append(errs, fmt.Errorf("merge %d files of %s/%s/%s: %w", len(g.sources), d.Org, d.Signal, d.Name, err))
		}
	}
	return errors.Join(errs...)
}

// merge makes one file of a group and replaces the group's segments by it.
func (c *Compactor) merge(ctx context.Context, d catalog.Dataset, g group) error {
	paths, release, err := c.deps.Files.Pin(ctx, g.sources)
	if err != nil {
		return err
	}
	defer release()
	if err := c.verify(g, paths); err != nil {
		return err
	}
	id, err := c.deps.Catalog.NextSegments(ctx, 1)
	if err != nil {
		return err
	}
	added, err := c.write(ctx, d, g, paths, id)
	if err != nil {
		return err
	}
	return c.replace(ctx, d, g, added)
}

// verify checks the bytes of the sources. A damaged one is noted and not looked at again by this process.
func (c *Compactor) verify(g group, paths []string) error {
	var errs []error
	for i, s := range g.sources {
		if err := checkFile(paths[i], s.Checksum); err != nil {
			c.broken[s.ID] = struct{}{}
			c.unreadable.Inc()
			c.deps.Logger.Error("segment cannot be read and is left alone", "segment", int64(s.ID), "key", s.Key, "error", err)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func checkFile(path, want string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	got, err := columnar.Checksum(f)
	if err == nil && got != want {
		err = fault.New(fault.Corrupt, "checksum is %s instead of %s", got, want)
	}
	return err
}

// write merges into a staging file and uploads it with its index.
func (c *Compactor) write(ctx context.Context, d catalog.Dataset, g group, paths []string, id catalog.SegmentID) (catalog.Segment, error) {
	sources := make([]columnar.Source, len(paths))
	var rows int64
	level := 0
	for i, s := range g.sources {
		sources[i] = columnar.Source{Path: paths[i], Segment: s.ID, Columns: s.Columns}
		rows += s.Rows
		level = max(level, s.Level)
	}
	staging := filepath.Join(c.opts.StagingDir, fmt.Sprintf("merge-%016x.parquet", int64(id)))
	defer os.Remove(staging) //nolint:errcheck // a leftover is removed at the next start
	opts := columnar.WriteOptions{Segment: id, Level: mergeLevel, Index: true}
	if d.Signal == signal.Metrics {
		opts.Sort, opts.Index = columnar.BySeries, false
	}
	info, err := columnar.Merge(ctx, staging, sources, opts)
	if err != nil {
		return catalog.Segment{}, err
	}
	if info.Rows+info.Duplicates != rows {
		return catalog.Segment{}, fault.New(fault.Internal, "merging gave %d rows instead of %d", info.Rows+info.Duplicates, rows)
	}
	key := columnar.ObjectKey(d.Org, d.Signal, d.ID, g.partition, id)
	seg := catalog.Segment{
		ID: id, Dataset: d.ID, Org: d.Org, Key: key, Bytes: info.Bytes, Rows: info.Rows, MinTime: info.MinTime, MaxTime: info.MaxTime,
		Partition: g.partition, Level: level + 1, Format: info.Format, Checksum: info.Checksum, RowGroups: info.RowGroups, Columns: info.Columns,
	}
	if err := c.deps.Objects.PutFile(ctx, key, staging); err != nil || info.Index == nil {
		return seg, err
	}
	index := info.Index.Finish(searchindex.Identity{Key: key, Checksum: info.Checksum})
	seg.IndexKey, seg.Index = strings.TrimSuffix(key, columnar.DataSuffix)+columnar.IndexSuffix, int64(len(index))
	return seg, c.deps.Objects.Put(ctx, seg.IndexKey, bytes.NewReader(index), seg.Index)
}

// replace swaps the sources for the merged segment in one step of the catalog. Whoever comes second finds a source gone and drops its
// own objects.
func (c *Compactor) replace(ctx context.Context, d catalog.Dataset, g group, added catalog.Segment) error {
	old := make([]catalog.SegmentID, len(g.sources))
	for i, s := range g.sources {
		old[i] = s.ID
	}
	var err error
	for range replaceAttempts {
		err = c.deps.Catalog.Replace(ctx, d.ID, old, []catalog.Segment{added})
		if err == nil {
			c.merged.Add(float64(len(old)))
			c.deps.Logger.Debug("files merged", "org", string(d.Org), "stream", d.Name, "files", len(old), "rows", added.Rows, "bytes", added.Bytes)
			return nil
		}
		if errors.Is(err, catalog.ErrConflict) {
			return c.deleteObjects(ctx, added)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return err // unknown outcome: the objects may be registered, the sweep decides
}
