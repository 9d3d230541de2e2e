package ingress

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wire"
)

// rateLimited is the reason of bytes refused by the org's rate, Loki's word.
const rateLimited = "rate_limited"

// discards counts what is refused: rows that were looked at, and the bytes of requests that were refused before.
type discards struct {
	rows, bytes *prometheus.CounterVec
	labels      tenant.Labels
}

func newDiscards(reg prometheus.Registerer) *discards {
	d := &discards{
		rows: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millstream_discarded_rows_total", Help: "Rows refused, by org and reason.",
		}, []string{"org", "reason"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millstream_discarded_bytes_total", Help: "Inflated bytes refused before rows were read from them, by org and reason.",
		}, []string{"org", "reason"}),
	}
	if reg != nil {
		reg.MustRegister(d.rows, d.bytes)
	}
	return d
}

func (d *discards) countRows(org tenant.ID, r wire.Result) {
	for cause, n := range r.Causes {
		if n > 0 {
			d.rows.WithLabelValues(d.labels.Of(org), wire.Cause(cause).String()).Add(float64(n))
		}
	}
}

// countFault counts rows that the writer has refused, if the error has a reason for that.
func (d *discards) countFault(org tenant.ID, err error, rows int) {
	if reason := fault.Reason(err); reason != "" && rows > 0 {
		d.rows.WithLabelValues(d.labels.Of(org), reason).Add(float64(rows))
	}
}

func (d *discards) countBytes(org tenant.ID, reason string, n int64) {
	d.bytes.WithLabelValues(d.labels.Of(org), reason).Add(float64(n))
}
