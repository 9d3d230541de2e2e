package promstore

import (
	"context"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// SelectInBatches is Select for an answer that need not be in memory as a whole: the series come sorted by their labels, and the samples of
// about Options.BatchSamples are loaded at a time, or those of one series if it alone has more. A series is valid until Next is called.
func (q *querier) SelectInBatches(ctx context.Context, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	if err := q.prepare(ctx); err != nil {
		return storage.ErrSeriesSet(err)
	}
	b := &batchSet{ctx: ctx, querier: q, all: q.of(hints, matchers), at: -1}
	first := b.all
	first.samples = false
	c, err := q.collect(ctx, first)
	if err != nil {
		return storage.ErrSeriesSet(err)
	}
	if b.rest, err = c.settled(); err != nil {
		return storage.ErrSeriesSet(err)
	}
	slices.SortFunc(b.rest, byLabels)
	return b
}

func byLabels(a, b *series) int { return labels.Compare(a.lset, b.lset) }

// batch is series to collect; without any it means all that match.
type batch struct {
	series map[string]bool // by labels.Labels.Bytes
	stored setBounds       // of their stored label sets
	names  []string        // in PromQL
}

// isPart reports whether not all series that match are meant.
func (b *batch) isPart() bool { return b.series != nil }

// has reports whether a series is to be collected.
func (b *batch) has(lset labels.Labels) bool {
	return !b.isPart() || b.series[string(lset.Bytes(nil))]
}

// mayHold judges bounds of stored label sets, both inclusive.
func (b *batch) mayHold(least, greatest string) bool {
	return b.stored.most == "" || least <= b.stored.most && b.stored.least <= greatest
}

// batchOf describes series.
func batchOf(list []*series) batch {
	b := batch{series: make(map[string]bool, len(list)), stored: list[0].stored}
	for _, s := range list {
		b.series[string(s.lset.Bytes(nil))] = true
		if name := s.lset.Get(model.MetricNameLabel); len(b.names) == 0 || b.names[len(b.names)-1] != name {
			b.names = append(b.names, name)
		}
		b.stored = b.stored.join(s.stored)
	}
	slices.Sort(b.names)
	b.names = slices.Compact(b.names)
	return b
}

// batchSet is a storage.SeriesSet whose samples are loaded batch by batch.
type batchSet struct {
	ctx     context.Context //nolint:containedctx // a set has no other way to be told; it lives as long as its query
	querier *querier
	all     selection
	rest    []*series // without samples
	loaded  []*series
	at      int
	err     error
}

// Next implements storage.SeriesSet.
func (b *batchSet) Next() bool {
	for b.at++; b.err == nil && b.at >= len(b.loaded) && len(b.rest) > 0; b.at = 0 {
		b.load()
	}
	return b.err == nil && b.at < len(b.loaded)
}

// load replaces the series that were loaded by the next ones.
func (b *batchSet) load() {
	b.loaded = nil
	n, samples := 0, int64(0)
	for n < len(b.rest) && (n == 0 || samples+b.rest[n].rows <= b.querier.store.opts.BatchSamples) {
		samples += b.rest[n].rows
		n++
	}
	next, narrow := b.all, *b.all.selector
	next.batch, next.samples, next.selector = batchOf(b.rest[:n]), true, &narrow
	b.rest = b.rest[n:]
	if narrow.exact == nil {
		narrow.exact = next.batch.names
	}
	c, err := b.querier.collect(b.ctx, next)
	if err == nil {
		b.loaded, err = c.settled()
	}
	slices.SortFunc(b.loaded, byLabels)
	b.err = err
}

// At implements storage.SeriesSet.
func (b *batchSet) At() storage.Series { return b.loaded[b.at] }

// Err implements storage.SeriesSet.
func (b *batchSet) Err() error { return b.err }

// Warnings implements storage.SeriesSet.
func (b *batchSet) Warnings() annotations.Annotations { return b.querier.warnings }
