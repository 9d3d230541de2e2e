package promeval

import (
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// millis is a time in milliseconds since the epoch. Its name keeps go vet from taking Seek for io.Seeker's.
type millis = int64

// result is a series with a value at every step. It is a storage.Series.
type result struct {
	lset        labels.Labels
	start, step millis
	values      []float64
}

// Labels implements storage.Series.
func (r *result) Labels() labels.Labels { return r.lset }

// Iterator implements storage.Series.
func (r *result) Iterator(it chunkenc.Iterator) chunkenc.Iterator {
	x, ok := it.(*iterator)
	if !ok {
		x = &iterator{}
	}
	x.result, x.at = r, -1
	return x
}

// iterator walks over a result. It is a chunkenc.Iterator.
type iterator struct {
	result *result
	at     int
}

// Next implements chunkenc.Iterator.
func (it *iterator) Next() chunkenc.ValueType {
	it.at = min(it.at+1, len(it.result.values))
	return it.typ()
}

// Seek implements chunkenc.Iterator.
func (it *iterator) Seek(t millis) chunkenc.ValueType {
	it.at = max(it.at, 0)
	if it.at < len(it.result.values) && it.AtT() < t {
		ahead := (t - it.result.start + it.result.step - 1) / it.result.step
		it.at = int(min(ahead, millis(len(it.result.values))))
	}
	return it.typ()
}

func (it *iterator) typ() chunkenc.ValueType {
	if it.at >= len(it.result.values) {
		return chunkenc.ValNone
	}
	return chunkenc.ValFloat
}

// At implements chunkenc.Iterator.
func (it *iterator) At() (int64, float64) { return it.AtT(), it.result.values[it.at] }

// AtHistogram implements chunkenc.Iterator; there is none.
func (it *iterator) AtHistogram(*histogram.Histogram) (int64, *histogram.Histogram) {
	return it.AtT(), &histogram.Histogram{}
}

// AtFloatHistogram implements chunkenc.Iterator; there is none.
func (it *iterator) AtFloatHistogram(*histogram.FloatHistogram) (int64, *histogram.FloatHistogram) {
	return it.AtT(), &histogram.FloatHistogram{}
}

// AtT implements chunkenc.Iterator.
func (it *iterator) AtT() int64 { return it.result.start + int64(it.at)*it.result.step }

// AtST implements chunkenc.Iterator.
func (*iterator) AtST() int64 { return 0 }

// Err implements chunkenc.Iterator.
func (*iterator) Err() error { return nil }
