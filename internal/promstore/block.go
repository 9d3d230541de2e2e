package promstore

import (
	"context"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/columnar/parquetfile"
	"github.com/millstream/millstream/internal/signal"
)

// block is the series of one metric in a row group of a segment, or of all metrics there, in the order of the file.
type block struct {
	runs []blockRun
	otlp bool // some samples are OTLP's; runs is empty then
}

// blockRun is the rows of one series, from the end of the run before.
type blockRun struct {
	series *knownSeries
	id     uint32 // of series, here so that most runs are judged without looking at it
	end    int32  // exclusive, counted from the block's first row
}

const blockRunBytes = 16

// part is rows of a row group that one block is of.
type part struct {
	metric     string // empty: all
	start, end int    // rows of the row group, end exclusive
}

// cachedSegment reads a segment through the cache. It opens the file only when the cache lacks something. It is used by one goroutine.
type cachedSegment struct {
	store   *Store
	id      catalog.SegmentID
	path    string
	file    *columnar.SeriesFile
	reader  *columnar.SeriesReader // nil before it was needed
	scratch internScratch
}

// openCached returns the segment with its footer.
func (s *Store) openCached(id catalog.SegmentID, path string) (_ *cachedSegment, err error) {
	f := &cachedSegment{store: s, id: id, path: path}
	f.file, err = s.seriesFile(id, path)
	return f, err
}

func (s *Store) seriesFile(id catalog.SegmentID, path string) (*columnar.SeriesFile, error) {
	return cached(s.cache, cacheKey{segment: id, what: cachedFile}, func() (*columnar.SeriesFile, int64, error) {
		f, err := columnar.ReadSeriesFile(path)
		if err != nil {
			return nil, 0, err
		}
		bytes := f.Size()
		return f, bytes, nil
	})
}

// open returns a reader of the file.
func (f *cachedSegment) open() (*columnar.SeriesReader, error) {
	if f.reader != nil {
		return f.reader, nil
	}
	r, ok := f.store.readers.Get().(*columnar.SeriesReader)
	if !ok {
		var err error
		if r, err = columnar.NewSeriesReader(); err != nil {
			return nil, err
		}
	}
	if err := r.Open(f.path, f.file); err != nil {
		return nil, err
	}
	f.reader = r
	return r, nil
}

// close closes the file, if it was opened.
func (f *cachedSegment) close() error {
	if f.reader == nil {
		return nil
	}
	err := f.reader.Close()
	f.store.readers.Put(f.reader)
	f.reader = nil
	return err
}

// parts returns the rows of the metrics in a row group that may match.
func (f *cachedSegment) parts(ctx context.Context, group int, s *selector) ([]part, error) {
	rows := f.file.Rows(group)
	if s.exact == nil {
		return []part{{end: rows}}, nil
	}
	least, greatest, ok := f.file.MetricBounds(group)
	if ok && least == greatest && len(least) < parquetfile.MaxBoundBytes { // else it may be cut
		return []part{{metric: least, end: rows}}, nil
	}
	key := cacheKey{segment: f.id, group: int32(group), what: cachedParts}
	all, err := cached(f.store.cache, key, func() ([]part, int64, error) {
		r, err := f.open()
		if err != nil {
			return nil, 0, err
		}
		const partBytes = 32
		var parts []part
		bytes := int64(0)
		err = r.Metrics(ctx, group, func(metric []byte, start, end int) {
			parts = append(parts, part{string(metric), start, end})
			bytes += partBytes + int64(len(metric))
		})
		return parts, bytes, err
	})
	var out []part
	for _, p := range all {
		if s.mayHold(p.metric, p.metric) {
			out = append(out, p)
		}
	}
	return out, err
}

// block returns the series of a part.
func (f *cachedSegment) block(ctx context.Context, group int, p part) (*block, error) {
	key := cacheKey{segment: f.id, group: int32(group), what: cachedBlock, metric: p.metric}
	return cached(f.store.cache, key, func() (*block, int64, error) {
		b, err := f.loadBlock(ctx, group, p)
		if err != nil {
			return nil, 0, err
		}
		return b, blockRunBytes * int64(cap(b.runs)), nil
	})
}

func (f *cachedSegment) loadBlock(ctx context.Context, group int, p part) (*block, error) {
	r, err := f.open()
	if err != nil {
		return nil, err
	}
	otlp, err := holdsOTLP(ctx, r, group, p)
	if err != nil || otlp {
		return &block{otlp: true}, err
	}
	runs, err := r.BorrowRuns(ctx, group, p.metric)
	if err != nil {
		return nil, err
	}
	b := &block{runs: make([]blockRun, 0, runs.Count(p.start, p.end))}
	c := f.store.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	runs.Each(p.start, p.end, func(metric string, set []byte, _, end int) {
		if err != nil {
			return
		}
		var k *knownSeries
		if k, err = c.intern(metric, set, &f.scratch); err == nil {
			b.runs = append(b.runs, blockRun{k, k.id, int32(end - p.start)})
		}
	})
	if err != nil {
		c.release(b)
	}
	return b, err
}

// holdsOTLP reports whether some row of a part is a sample and says its kind.
func holdsOTLP(ctx context.Context, r *columnar.SeriesReader, group int, p part) (bool, error) {
	if r.Empty(group, signal.KindColumn) {
		return false, nil
	}
	var kinds []int
	err := r.Texts(ctx, group, signal.KindColumn, func(row int, _ []byte) {
		if row >= p.start && row < p.end {
			kinds = append(kinds, row)
		}
	})
	if err != nil || len(kinds) == 0 {
		return false, err
	}
	for _, column := range []string{signal.ValueColumn, signal.HistogramColumn, signal.FlagsColumn} {
		if r.Empty(group, column) {
			continue
		}
		present, err := r.Present(ctx, group, column)
		if err != nil {
			return false, err
		}
		for _, row := range kinds {
			if len(present) == 0 || present[row] {
				return true, nil
			}
		}
	}
	return false, nil
}

// samples returns the columns of a part.
func (f *cachedSegment) samples(ctx context.Context, group int, p part) (*groupColumns, error) {
	key := cacheKey{segment: f.id, group: int32(group), what: cachedSamples, metric: p.metric}
	return cached(f.store.cache, key, func() (*groupColumns, int64, error) {
		r, err := f.open()
		if err != nil {
			return nil, 0, err
		}
		g, err := readColumns(ctx, r, int64(f.id), group)
		if err != nil {
			return nil, 0, err
		}
		if p.start > 0 || p.end < len(g.times) {
			g = g.clone(p.start, p.end)
		}
		bytes := g.bytes()
		return g, bytes, nil
	})
}
