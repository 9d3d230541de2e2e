package promstore

import (
	"cmp"
	"slices"
	"sort"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// seriesKey identifies a series by its stored texts.
type seriesKey struct{ metric, labels string }

// series is what a query loaded of one series. It is a storage.Series.
type series struct {
	lset   labels.Labels
	from   int64 // samples before it are there only to judge the histogram that follows
	place  int64 // the least that it was found at (collector.place)
	delta  bool  // values are differences: OTLP's delta temporality
	pieces []piece
	rows   int64     // how many samples it may have, where only the series is asked for
	stored setBounds // of the stored label sets that it comes from
}

// setBounds are bounds of stored label sets, both inclusive; most is empty when they are not known.
type setBounds struct{ least, most string }

func (b setBounds) join(o setBounds) setBounds {
	if b.most == "" || o.most == "" {
		return setBounds{}
	}
	return setBounds{min(b.least, o.least), max(b.most, o.most)}
}

// piece is samples of one series from one place, in order of time. Its slices are shared and never written.
type piece struct {
	version    int64   // of two samples at one time the one of the greater version counts
	versions   []int64 // a row, of a merged file; nil when version is all rows'
	times      []int64
	values     []float64 // of a histogram's row anything
	histograms [][]byte  // stored form, nil for a float; nil when all are floats
	starts     []int64   // start timestamps in milliseconds, 0 = none; nil when there is none
}

func (p *piece) slice(from, to int) piece {
	out := piece{version: p.version, times: p.times[from:to], values: p.values[from:to]}
	if p.histograms != nil {
		out.histograms = p.histograms[from:to]
	}
	if p.starts != nil {
		out.starts = p.starts[from:to]
	}
	if p.versions != nil {
		out.versions = p.versions[from:to]
	}
	return out
}

// Labels implements storage.Series.
func (s *series) Labels() labels.Labels { return s.lset }

// Iterator implements storage.Series.
func (s *series) Iterator(it chunkenc.Iterator) chunkenc.Iterator {
	x, ok := it.(*iterator)
	if !ok {
		x = &iterator{}
	}
	x.reset(s.pieces, s.from)
	return x
}

// settle puts the pieces into an order in which no two overlap. Of pieces with one version those that were added later count more.
func (s *series) settle() {
	if len(s.pieces) < 2 && (len(s.pieces) == 0 || ascending(s.pieces[0].times)) {
		return
	}
	byTime := func(a, b piece) int { return cmp.Compare(a.times[0], b.times[0]) }
	sorted := s.pieces
	if !slices.IsSortedFunc(sorted, byTime) {
		sorted = slices.Clone(sorted)
		slices.SortStableFunc(sorted, byTime)
	}
	for i := range sorted {
		p := &sorted[i]
		if !ascending(p.times) || i > 0 && sorted[i-1].times[len(sorted[i-1].times)-1] >= p.times[0] {
			s.pieces = []piece{merged(s.pieces)}
			return
		}
	}
	s.pieces = sorted
}

func ascending(times []int64) bool {
	for i := 1; i < len(times); i++ {
		if times[i] <= times[i-1] {
			return false
		}
	}
	return true
}

// merged joins pieces that overlap. Of several samples at one time the last one of the greatest version stays.
func merged(pieces []piece) piece {
	type ref struct {
		time, version int64
		piece, row    int
	}
	var refs []ref
	out := piece{}
	hasHistograms, hasStarts := false, false
	for i, p := range pieces {
		for row, t := range p.times {
			refs = append(refs, ref{t, max(p.version, at(p.versions, row)), i, row})
		}
		hasHistograms = hasHistograms || p.histograms != nil
		hasStarts = hasStarts || p.starts != nil
	}
	slices.SortStableFunc(refs, func(a, b ref) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.version, b.version))
	})
	for i, r := range refs {
		if i+1 < len(refs) && refs[i+1].time == r.time {
			continue
		}
		p := &pieces[r.piece]
		out.times, out.values = append(out.times, r.time), append(out.values, p.values[r.row])
		if hasHistograms {
			out.histograms = append(out.histograms, at(p.histograms, r.row))
		}
		if hasStarts {
			out.starts = append(out.starts, at(p.starts, r.row))
		}
	}
	return out
}

// at returns an element of a slice that may be nil as a whole.
func at[T any](s []T, i int) T {
	if s == nil {
		var zero T
		return zero
	}
	return s[i]
}

// cut returns the rows of ascending times between two times, both inclusive.
func cut(times []int64, from, to int64) (start, end int) {
	start = sort.Search(len(times), func(i int) bool { return times[i] >= from })
	end = start + sort.Search(len(times)-start, func(i int) bool { return times[start+i] > to })
	return start, end
}
