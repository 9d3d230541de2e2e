package cli

import (
	"fmt"

	"github.com/prometheus/prometheus/model/labels"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"

	"github.com/millstream/millstream/internal/backfill"
)

// sampleRequest is a request of remote write 2.0 that grows sample by sample.
type sampleRequest struct {
	symbols writev2.SymbolsTable
	request writev2.Request
	last    labels.Labels // of the last series of the request
	refs    []uint32

	samples int64
	refused int64 // that were counted since the request was begun
	bytes   int   // about
}

func newSampleRequest() *sampleRequest { return &sampleRequest{symbols: writev2.NewSymbolTable()} }

func (q *sampleRequest) reset() { *q = *newSampleRequest() }

// add copies a sample into the request.
func (q *sampleRequest) add(s *backfill.Sample) {
	if n := len(q.request.Timeseries); n == 0 || !labels.Equal(q.last, s.Labels) {
		q.begin(s)
	}
	ts := &q.request.Timeseries[len(q.request.Timeseries)-1]
	switch {
	case s.Histogram != nil:
		ts.Histograms = append(ts.Histograms, writev2.FromIntHistogram(s.Start, s.Millis, s.Histogram))
		q.bytes += ts.Histograms[len(ts.Histograms)-1].Size()
	case s.Float != nil:
		ts.Histograms = append(ts.Histograms, writev2.FromFloatHistogram(s.Start, s.Millis, s.Float))
		q.bytes += ts.Histograms[len(ts.Histograms)-1].Size()
	default:
		const size = 20
		ts.Samples = append(ts.Samples, writev2.Sample{Timestamp: s.Millis, StartTimestamp: s.Start, Value: s.Value})
		q.bytes += size
	}
	for _, e := range s.Exemplars {
		at := s.Millis
		if e.HasTs {
			at = e.Ts
		}
		refs := q.symbols.SymbolizeLabels(e.Labels, nil)
		ts.Exemplars = append(ts.Exemplars, writev2.Exemplar{LabelsRefs: refs, Value: e.Value, Timestamp: at})
		q.bytes += ts.Exemplars[len(ts.Exemplars)-1].Size()
	}
	q.samples++
}

// begin adds the sample's series.
func (q *sampleRequest) begin(s *backfill.Sample) {
	q.last = s.Labels.Copy()
	q.refs = q.symbols.SymbolizeLabels(q.last, q.refs[:0])
	ts := writev2.TimeSeries{LabelsRefs: append([]uint32(nil), q.refs...)}
	if f := s.Family; f != (backfill.Family{}) {
		ts.Metadata = writev2.Metadata{
			Type: writev2.FromMetadataType(f.Type), HelpRef: q.symbols.Symbolize(f.Help), UnitRef: q.symbols.Symbolize(f.Unit),
		}
	}
	q.request.Timeseries = append(q.request.Timeseries, ts)
	q.last.Range(func(l labels.Label) { q.bytes += len(l.Name) + len(l.Value) })
}

func (q *sampleRequest) marshal() ([]byte, error) {
	q.request.Symbols = q.symbols.Symbols()
	body, err := q.request.Marshal()
	if err != nil {
		return nil, fmt.Errorf("write a request: %w", err)
	}
	return body, nil
}
