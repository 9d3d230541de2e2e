package promstore

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/limits"
)

// freshVersion is the version of rows that no file has yet: greater than that of any segment.
const freshVersion = math.MaxInt64

// collector gathers the series of one Select. Files are read by several goroutines; whoever touches the series holds the lock.
type collector struct {
	mu       sync.Mutex
	selector *selector
	batch    batch
	horizon  *horizon
	from, to int64 // milliseconds, inclusive
	samples  bool  // false: only which series there are
	limits   limits.Limits
	loaded   *int64 // samples of the query so far, all selectors together

	series   map[seriesKey]*series // nil for one that does not match
	verdicts []verdict             // by the id of a known series
	order    []*series
	place    int64 // where what is added stands: of records and files read one after the other it would ascend
	pairs    []pair
	builder  labels.ScratchBuilder
	otlp     *otlpTranslator // nil before the first row of OTLP
	oldest   int64           // least time of the metric judged last
	judged   string          // that metric
}

func newCollector(s *selector, h *horizon, from, to int64) *collector {
	return &collector{
		selector: s, horizon: h, from: from, to: to, series: make(map[seriesKey]*series), builder: labels.NewScratchBuilder(16),
		oldest: h.oldest(""),
	}
}

// find returns the series of stored texts, nil when it does not match. The texts of a new series are kept: they must not be changed.
func (c *collector) find(metric, set string) (*series, error) {
	if !c.selector.metricMatches(metric) {
		return nil, nil
	}
	key := seriesKey{metric, set}
	if s, ok := c.series[key]; ok {
		return s, nil
	}
	var err error
	if c.pairs, err = appendPairs(c.pairs[:0], set); err != nil {
		return nil, err
	}
	if !c.selector.labelsMatch(c.pairs) {
		c.series[key] = nil
		return nil, nil
	}
	lset := labelsOf(&c.builder, metric, c.pairs)
	if !c.batch.has(lset) {
		c.series[key] = nil
		return nil, nil
	}
	return c.newSeries(key, lset), nil
}

// newSeries returns the series of stored texts, which matches.
func (c *collector) newSeries(key seriesKey, lset labels.Labels) *series {
	from, _ := c.visible(key.metric)
	s := &series{lset: lset, from: from, stored: setBounds{key.labels, key.labels}}
	c.series[key] = s
	return s
}

// verdict is what was found of a known series: nil when it does not match.
type verdict struct {
	known  *knownSeries
	series *series
}

// findKnown is find for a series of the cache, whose id is given.
func (c *collector) findKnown(k *knownSeries, id uint32) *series {
	if int(id) < len(c.verdicts) && c.verdicts[id].known == k {
		return c.verdicts[id].series
	}
	var s *series
	if c.selector.metricMatches(k.metric) {
		if s = c.series[k.seriesKey]; s == nil && c.selector.setMatches(k.lset) && c.batch.has(k.lset) {
			s = c.newSeries(k.seriesKey, k.lset)
		}
	}
	if int(id) >= len(c.verdicts) {
		c.verdicts = slices.Grow(c.verdicts, int(id)+1-len(c.verdicts))
		c.verdicts = c.verdicts[:cap(c.verdicts)]
	}
	c.verdicts[id] = verdict{k, s}
	return s
}

// visible returns the times that may be shown of a metric.
func (c *collector) visible(metric string) (from, to int64) {
	if c.judged != metric {
		c.judged, c.oldest = metric, c.horizon.oldest(metric)
	}
	return max(c.from, c.oldest), c.to
}

// add notes samples of a series, in order of time.
func (c *collector) add(s *series, p piece) error {
	if err := c.enlist(s); err != nil {
		return err
	}
	s.pieces = append(s.pieces, p)
	return c.count(len(p.times))
}

func (c *collector) count(n int) error {
	*c.loaded += int64(n)
	if most := int64(c.limits.MaxFetchedSamples); most > 0 && *c.loaded > most {
		return tooManySamples(most)
	}
	return nil
}

// note notes that a series has up to so many samples, whichever.
func (c *collector) note(s *series, samples int) error {
	s.rows += int64(samples)
	err := c.enlist(s)
	if err == nil && len(s.pieces) == 0 {
		s.pieces = []piece{{}}
	}
	return err
}

// enlist notes the first place of a series that has samples.
func (c *collector) enlist(s *series) error {
	if len(s.pieces) == 0 {
		if most := c.limits.MaxFetchedSeries; most > 0 && len(c.order) >= most {
			return tooManySeries(most)
		}
		c.order = append(c.order, s)
		s.place = c.place
	}
	s.place = min(s.place, c.place)
	return nil
}

// translator returns what takes rows of OTLP.
func (c *collector) translator() *otlpTranslator {
	if c.otlp == nil {
		c.otlp = newOTLPTranslator(c)
	}
	return c.otlp
}

// settled returns the series with their samples in order. Series that came under Prometheus' names and under OTLP's are joined.
func (c *collector) settled() ([]*series, error) {
	// Whichever goroutine was first, the order is that of the places, so that the same sums have the same last digits.
	slices.SortStableFunc(c.order, func(a, b *series) int { return cmp.Compare(a.place, b.place) })
	out := c.order
	if c.otlp != nil {
		out = joined(out)
	}
	for _, s := range out {
		s.settle()
		if s.delta && c.samples {
			if err := s.accumulate(); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// joined makes one of series with the same labels.
func joined(list []*series) []*series {
	first := make(map[string]*series, len(list))
	out := list[:0]
	for _, s := range list {
		key := string(s.lset.Bytes(nil))
		if f := first[key]; f != nil {
			f.pieces = append(f.pieces, s.pieces...)
			f.rows += s.rows
			f.stored = f.stored.join(s.stored)
			continue
		}
		first[key] = s
		out = append(out, s)
	}
	return out
}

// run collects from fresh rows and the files of the given segments.
func (c *collector) run(ctx context.Context, q *querier, segments []catalog.Segment) error {
	for i, r := range q.picture.fresh {
		c.place = int64(i - len(q.picture.fresh)) // before all files
		if err := c.record(r); err != nil {
			return fmt.Errorf("read fresh rows: %w", err)
		}
	}
	return c.segments(ctx, q, segments)
}
