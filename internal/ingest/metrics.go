package ingest

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/signal"
)

type metrics struct {
	rows         *prometheus.CounterVec
	segments     prometheus.Counter
	flushSeconds prometheus.Histogram
	flushErrors  prometheus.Counter
	fenced       prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, g *Ingest) *metrics {
	m := &metrics{
		rows: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millstream_ingest_rows_total", Help: "Rows handed to the write-ahead log.",
		}, []string{"signal"}),
		segments: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "millstream_ingest_segments_total", Help: "Segments published by flushes.",
		}),
		flushSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "millstream_ingest_flush_seconds", Help: "Duration of flush rounds that published something.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2, 14),
		}),
		flushErrors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "millstream_ingest_flush_errors_total", Help: "Flush rounds that failed and will be tried again.",
		}),
		fenced: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "millstream_ingest_fenced_total", Help: "Datasets that another process with this node.id took over.",
		}),
	}
	for _, s := range signal.All() {
		m.rows.WithLabelValues(s.String())
	}
	if reg == nil {
		return m
	}
	reg.MustRegister(m.rows, m.segments, m.flushSeconds, m.flushErrors, m.fenced,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "millstream_ingest_buffer_bytes", Help: "Arrow bytes held in buffers.",
		}, func() float64 { return float64(g.memory.used()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "millstream_ingest_buffer_rows", Help: "Rows held in buffers.",
		}, func() float64 { rows, _ := g.Unflushed(); return float64(rows) }),
	)
	return m
}
