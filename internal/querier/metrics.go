package querier

import (
	"errors"
	"io"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/fault"
)

// metrics of all statements together.
type metrics struct {
	statements *prometheus.CounterVec
	seconds    prometheus.Histogram
	scanned    prometheus.Counter
	segments   *prometheus.CounterVec
	foreign    prometheus.Counter

	indexFailures prometheus.Counter
}

// newMetrics registers the metrics; a nil reg registers nothing.
func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		statements: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millstream_query_statements_total", Help: "Statements that ended, by outcome: ok or the kind of the error.",
		}, []string{"outcome"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "millstream_query_seconds", Help: "Time from a statement's arrival to its last row.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}),
		scanned: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "millstream_query_scanned_rows_total", Help: "Rows of segments and buffers that statements read, after pruning.",
		}),
		segments: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millstream_query_segments_total", Help: "Segments that statements read, or left out by reason.",
		}, []string{"outcome"}),
		foreign: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "millstream_query_foreign_segments_total",
			Help: "Segments of another org that a plan held; always 0 unless the catalog is damaged.",
		}),
		indexFailures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "millstream_query_index_failures_total",
			Help: "Search indexes that were missing, stale or damaged, so that their file was scanned.",
		}),
	}
	for _, outcome := range []string{"read", prunedByTime, prunedByStatistics, prunedByIndex, prunedByOrder, prunedByCatalog} {
		m.segments.WithLabelValues(outcome)
	}
	m.statements.WithLabelValues("ok")
	if reg != nil {
		reg.MustRegister(m.statements, m.seconds, m.scanned, m.segments, m.foreign, m.indexFailures)
	}
	return m
}

func (m *metrics) observe(s Stats, err error) {
	outcome := "ok"
	if err != nil && !errors.Is(err, io.EOF) {
		outcome = fault.KindOf(err).String()
	}
	m.statements.WithLabelValues(outcome).Inc()
	m.seconds.Observe(s.Took.Seconds())
	m.scanned.Add(float64(s.ScannedRows))
	m.segments.WithLabelValues("read").Add(float64(s.Segments))
	for reason, n := range s.PrunedBy {
		m.segments.WithLabelValues(reason).Add(float64(n))
	}
}
