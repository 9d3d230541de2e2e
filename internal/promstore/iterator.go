package promstore

import (
	"bytes"
	"sort"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// millis is a time in milliseconds since the epoch. Its name keeps go vet from taking Seek for io.Seeker's.
type millis = int64

// iterator walks over the samples of one series. It is a chunkenc.Iterator.
type iterator struct {
	pieces []piece
	piece  int // of the current sample
	row    int // of it in its piece, -1 before the first
	begun  bool
	err    error
	reader histogramReader
}

// reset puts the iterator before the first sample at or after a time.
func (it *iterator) reset(pieces []piece, from int64) {
	it.pieces, it.piece, it.row, it.begun, it.err = pieces, 0, -1, false, nil
	it.reader.reset()
	for it.piece < len(pieces) && len(pieces[it.piece].times) > 0 && pieces[it.piece].times[it.row+1] < from {
		it.row++
		if it.row+1 == len(pieces[it.piece].times) {
			it.piece, it.row = it.piece+1, -1
		}
	}
}

// Next implements chunkenc.Iterator.
func (it *iterator) Next() chunkenc.ValueType {
	if it.err != nil || it.piece >= len(it.pieces) {
		return chunkenc.ValNone
	}
	it.begun = true
	it.row++
	for it.row >= len(it.pieces[it.piece].times) {
		it.piece, it.row = it.piece+1, 0
		if it.piece == len(it.pieces) {
			return chunkenc.ValNone
		}
	}
	return it.valueType()
}

// Seek implements chunkenc.Iterator.
func (it *iterator) Seek(t millis) chunkenc.ValueType {
	if it.err != nil || it.piece >= len(it.pieces) {
		return chunkenc.ValNone
	}
	if it.row < 0 || !it.begun {
		it.row++
	} else if it.pieces[it.piece].times[it.row] >= t {
		return it.valueType()
	}
	it.begun = true
	for ; it.piece < len(it.pieces); it.piece, it.row = it.piece+1, 0 {
		times := it.pieces[it.piece].times
		if n := len(times); n == 0 || times[n-1] < t {
			continue
		}
		// The wanted sample mostly is one of the next few.
		const near = 8
		for i := range near {
			if it.row+i < len(times) && times[it.row+i] >= t {
				it.row += i
				return it.valueType()
			}
		}
		rest := times[it.row:]
		it.row += sort.Search(len(rest), func(i int) bool { return rest[i] >= t })
		return it.valueType()
	}
	return chunkenc.ValNone
}

func (it *iterator) valueType() chunkenc.ValueType {
	p := &it.pieces[it.piece]
	if at(p.histograms, it.row) == nil {
		return chunkenc.ValFloat
	}
	if bytes.HasSuffix(p.histograms[it.row], []byte(`"float":true}`)) {
		return chunkenc.ValFloatHistogram
	}
	return chunkenc.ValHistogram
}

// At implements chunkenc.Iterator.
func (it *iterator) At() (int64, float64) {
	p := &it.pieces[it.piece]
	return p.times[it.row], p.values[it.row]
}

// AtHistogram implements chunkenc.Iterator.
func (it *iterator) AtHistogram(dst *histogram.Histogram) (int64, *histogram.Histogram) {
	h := it.histogram().integer
	if h == nil {
		return it.AtT(), &histogram.Histogram{}
	}
	if dst == nil {
		return it.AtT(), h.Copy()
	}
	h.CopyTo(dst)
	return it.AtT(), dst
}

// AtFloatHistogram implements chunkenc.Iterator.
func (it *iterator) AtFloatHistogram(dst *histogram.FloatHistogram) (int64, *histogram.FloatHistogram) {
	h := it.histogram()
	switch {
	case h.integer != nil:
		return it.AtT(), h.integer.ToFloat(dst)
	case h.float == nil:
		return it.AtT(), &histogram.FloatHistogram{}
	case dst == nil:
		return it.AtT(), h.float.Copy()
	}
	h.float.CopyTo(dst)
	return it.AtT(), dst
}

// histogram reads the current histogram with the hint that the one before it allows.
func (it *iterator) histogram() parsedHistogram {
	var before []byte
	switch {
	case it.row > 0:
		before = at(it.pieces[it.piece].histograms, it.row-1)
	case it.piece > 0:
		p := &it.pieces[it.piece-1]
		before = at(p.histograms, len(p.times)-1)
	}
	h, err := it.reader.read(it.pieces[it.piece].histograms[it.row], before)
	if err != nil {
		it.err = err
	}
	return h
}

// AtT implements chunkenc.Iterator.
func (it *iterator) AtT() int64 { return it.pieces[it.piece].times[it.row] }

// AtST implements chunkenc.Iterator.
func (it *iterator) AtST() int64 { return at(it.pieces[it.piece].starts, it.row) }

// Err implements chunkenc.Iterator.
func (it *iterator) Err() error { return it.err }
