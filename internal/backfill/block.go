package backfill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/index"
	"github.com/prometheus/prometheus/tsdb/tombstones"

	"github.com/millstream/millstream/internal/fault"
)

const (
	metaFile    = "meta.json"
	metaVersion = 1
)

// blockMeta is what meta.json says of a block.
type blockMeta struct {
	ULID    string `json:"ulid"`
	Version int    `json:"version"`
	MinTime int64  `json:"minTime"` // milliseconds, inclusive
	MaxTime int64  `json:"maxTime"` // exclusive
	Stats   struct {
		Samples int64 `json:"numSamples"`
	} `json:"stats"`
	Compaction struct {
		Parents []struct {
			ULID string `json:"ulid"`
		} `json:"parents"`
	} `json:"compaction"`
}

// Blocks returns the blocks of a Prometheus data folder, the oldest first, or the one block that the folder is. Blocks that another one of
// the folder was made from are left out: their samples are in it. What Prometheus has not made a block of yet (wal, chunks_head) is not
// read.
func Blocks(dir string) ([]Part, error) {
	if _, err := os.Stat(filepath.Join(dir, metaFile)); err == nil {
		b, err := openBlock(dir)
		if err != nil {
			return nil, err
		}
		return []Part{b}, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "list the folder %s", dir)
	}
	var found []*block
	parents := make(map[string]bool)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if _, err := os.Stat(filepath.Join(path, metaFile)); !e.IsDir() || err != nil || strings.Contains(e.Name(), ".tmp-for-") {
			continue
		}
		b, err := openBlock(path)
		if err != nil {
			return nil, err
		}
		for _, p := range b.meta.Compaction.Parents {
			parents[p.ULID] = true
		}
		found = append(found, b)
	}
	slices.SortFunc(found, func(a, b *block) int {
		if a.meta.MinTime != b.meta.MinTime {
			return int(min(max(a.meta.MinTime-b.meta.MinTime, -1), 1))
		}
		return strings.Compare(a.meta.ULID, b.meta.ULID)
	})
	var out []Part
	for _, b := range found {
		if !parents[b.meta.ULID] {
			out = append(out, b)
		}
	}
	if len(out) == 0 {
		return nil, fault.New(fault.Invalid, "the folder %s holds no block of a Prometheus TSDB (folders with %s)", dir, metaFile)
	}
	return out, nil
}

// block is one block. It is a Part.
type block struct {
	dir  string
	meta blockMeta
}

func openBlock(dir string) (*block, error) {
	text, err := os.ReadFile(filepath.Join(dir, metaFile))
	if err != nil {
		return nil, fmt.Errorf("read about a block: %w", err)
	}
	b := &block{dir: dir}
	if err := json.Unmarshal(text, &b.meta); err != nil {
		return nil, fault.Wrap(fault.Corrupt, err, "%s of %s", metaFile, dir)
	}
	if b.meta.Version != metaVersion || b.meta.ULID == "" {
		return nil, fault.New(fault.Unsupported, "%s of %s has version %d, version %d is read", metaFile, dir, b.meta.Version, metaVersion)
	}
	return b, nil
}

// ID implements Part.
func (b *block) ID() string { return b.meta.ULID }

// Name implements Part.
func (b *block) Name() string { return "block " + b.meta.ULID }

// Samples implements Part.
func (b *block) Samples() int64 { return b.meta.Stats.Samples }

// Each implements Part. A block has nothing that is refused.
func (b *block) Each(ctx context.Context, skip int64, visit func(*Sample) error, _ func(string)) (err error) {
	list, err := index.NewFileReader(filepath.Join(b.dir, "index"), index.DecodePostingsRaw)
	if err != nil {
		return fault.Wrap(fault.Corrupt, err, "index of %s", b.Name())
	}
	defer func() { err = errors.Join(err, list.Close()) }()
	data, err := chunks.NewDirReader(filepath.Join(b.dir, "chunks"), nil)
	if err != nil {
		return fault.Wrap(fault.Corrupt, err, "chunks of %s", b.Name())
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	deleted, _, err := tombstones.ReadTombstones(b.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(fault.Corrupt, err, "tombstones of %s", b.Name())
	}
	defer func() { err = errors.Join(err, deleted.Close()) }()
	name, value := index.AllPostingsKey()
	all, err := list.Postings(ctx, name, value)
	if err != nil {
		return fault.Wrap(fault.Corrupt, err, "index of %s", b.Name())
	}
	r := blockReader{block: b, index: list, chunks: data, deleted: deleted, skip: skip, visit: visit}
	for all.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.series(all.At()); err != nil {
			return err
		}
	}
	return all.Err()
}

// blockReader reads a block.
type blockReader struct {
	*block
	index   *index.Reader
	chunks  *chunks.Reader
	deleted tombstones.Reader
	skip    int64 // samples still to be passed over
	visit   func(*Sample) error

	builder labels.ScratchBuilder
	metas   []chunks.Meta
	it      chunkenc.Iterator
	sample  Sample
}

func (r *blockReader) series(ref storage.SeriesRef) error {
	if err := r.index.Series(ref, &r.builder, &r.metas); err != nil {
		return fault.Wrap(fault.Corrupt, err, "series %d of %s", ref, r.Name())
	}
	gone, err := r.deleted.Get(ref)
	if err != nil {
		return fault.Wrap(fault.Corrupt, err, "tombstones of %s", r.Name())
	}
	r.sample = Sample{Labels: r.builder.Labels()}
	last := int64(math.MinInt64)
	for _, meta := range r.metas {
		c, iterable, err := r.chunks.ChunkOrIterable(meta)
		if err != nil {
			return fault.Wrap(fault.Corrupt, err, "a chunk of %s in %s", r.sample.Labels, r.Name())
		}
		if c != nil {
			iterable = c
		}
		r.it = iterable.Iterator(r.it)
		if last, err = r.chunk(gone, last); err != nil {
			return err
		}
	}
	return nil
}

// chunk visits the samples of a chunk that come after the last one: chunks may overlap.
func (r *blockReader) chunk(gone tombstones.Intervals, last int64) (int64, error) {
	for typ := r.it.Next(); typ != chunkenc.ValNone; typ = r.it.Next() {
		s := &r.sample
		s.Millis, s.Histogram, s.Float, s.Value = r.it.AtT(), nil, nil, 0
		if s.Millis <= last || isGone(gone, s.Millis) {
			continue
		}
		last = s.Millis
		if r.skip > 0 {
			r.skip--
			continue
		}
		switch typ {
		case chunkenc.ValHistogram:
			_, s.Histogram = r.it.AtHistogram(nil)
		case chunkenc.ValFloatHistogram:
			_, s.Float = r.it.AtFloatHistogram(nil)
		default:
			_, s.Value = r.it.At()
		}
		if err := r.visit(s); err != nil {
			return last, err
		}
	}
	if err := r.it.Err(); err != nil {
		return last, fault.Wrap(fault.Corrupt, err, "a chunk of %s in %s", r.sample.Labels, r.Name())
	}
	return last, nil
}

func isGone(gone tombstones.Intervals, millis int64) bool {
	return slices.ContainsFunc(gone, func(i tombstones.Interval) bool { return i.InBounds(millis) })
}
