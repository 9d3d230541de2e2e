package columnar

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/millstream/millstream/internal/signal"
)

// sampleFinder tells which rows of a part are samples.
type sampleFinder struct {
	records []arrow.RecordBatch
	columns [][]arrow.Array // by record: those of which a sample has one; made when first needed, which they mostly are not
}

func (s *sampleFinder) isSample(r rowRef) bool {
	if s.columns == nil {
		s.columns = make([][]arrow.Array, len(s.records))
		for i, r := range s.records {
			for j, f := range r.Schema().Fields() {
				switch f.Name {
				case signal.ValueColumn, signal.HistogramColumn, signal.FlagsColumn:
					s.columns[i] = append(s.columns[i], r.Column(j))
				}
			}
		}
	}
	for _, c := range s.columns[r.record] {
		if c.IsValid(int(r.row)) {
			return true
		}
	}
	return false
}

// appendOnce appends the sorted rows of a series but samples that are followed by one of the same time, to the nanosecond: of several the
// last one stays, as in a merge. Rows that are no samples have no duplicates.
func (s *sampleFinder) appendOnce(dst, rows []rowRef) []rowRef {
	for i, r := range rows {
		if i+1 < len(rows) && !r.before(rows[i+1]) && s.isSample(r) && s.isSample(rows[i+1]) {
			continue
		}
		dst = append(dst, r)
	}
	return dst
}
