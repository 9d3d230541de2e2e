package columnar

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/millstream/millstream/internal/signal"
)

// sampleFinder tells which rows of a part are samples.
type sampleFinder struct {
	columns [][]arrow.Array // by record: those of which a sample has one
}

func newSampleFinder(records []arrow.RecordBatch) *sampleFinder {
	s := &sampleFinder{columns: make([][]arrow.Array, len(records))}
	for i, r := range records {
		for j, f := range r.Schema().Fields() {
			switch f.Name {
			case signal.ValueColumn, signal.HistogramColumn, signal.FlagsColumn:
				s.columns[i] = append(s.columns[i], r.Column(j))
			}
		}
	}
	return s
}

func (s *sampleFinder) isSample(r rowRef) bool {
	for _, c := range s.columns[r.record] {
		if c.IsValid(int(r.row)) {
			return true
		}
	}
	return false
}

// seriesRow is a row with the rank of its series.
type seriesRow struct {
	series int32
	rowRef
}

// withoutDuplicates returns the sorted rows but samples that are followed by one of the same series and time, to the nanosecond: of several
// the last one stays, as in a merge. Rows that are no samples have no duplicates.
func withoutDuplicates(records []arrow.RecordBatch, rows []seriesRow, dst []rowRef) []rowRef {
	var samples *sampleFinder // made when first needed, which it mostly is not
	for i, r := range rows {
		if i+1 < len(rows) && rows[i+1].series == r.series && rows[i+1].time == r.time && rows[i+1].nanos == r.nanos {
			if samples == nil {
				samples = newSampleFinder(records)
			}
			if samples.isSample(r.rowRef) && samples.isSample(rows[i+1].rowRef) {
				continue
			}
		}
		dst = append(dst, r.rowRef)
	}
	return dst
}
