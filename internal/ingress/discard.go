package ingress

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wire"
)

// maxDiscardOrgs is how many orgs have series of their own in the metrics of discarded data. Org ids come from clients.
const maxDiscardOrgs = 1000

// manyOrgs stands for the orgs beyond. No id has its characters.
const manyOrgs = "(other)"

// rateLimited is the reason of bytes refused by the org's rate, Loki's word.
const rateLimited = "rate_limited"

// discards counts what is refused: rows that were looked at, and the bytes of requests that were refused before.
type discards struct {
	rows, bytes *prometheus.CounterVec

	mu   sync.Mutex
	orgs map[tenant.ID]struct{}
}

func newDiscards(reg prometheus.Registerer) *discards {
	d := &discards{
		rows: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millstream_discarded_rows_total", Help: "Rows refused, by org and reason.",
		}, []string{"org", "reason"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millstream_discarded_bytes_total", Help: "Inflated bytes refused before rows were read from them, by org and reason.",
		}, []string{"org", "reason"}),
		orgs: map[tenant.ID]struct{}{},
	}
	if reg != nil {
		reg.MustRegister(d.rows, d.bytes)
	}
	return d
}

// label returns the org's label, manyOrgs when there are too many.
func (d *discards) label(org tenant.ID) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.orgs[org]; !ok {
		if len(d.orgs) >= maxDiscardOrgs {
			return manyOrgs
		}
		d.orgs[org] = struct{}{}
	}
	return string(org)
}

func (d *discards) countRows(org tenant.ID, r wire.Result) {
	for cause, n := range r.Causes {
		if n > 0 {
			d.rows.WithLabelValues(d.label(org), wire.Cause(cause).String()).Add(float64(n))
		}
	}
}

// countFault counts rows that the writer has refused, if the error has a reason for that.
func (d *discards) countFault(org tenant.ID, err error, rows int) {
	if reason := fault.Reason(err); reason != "" && rows > 0 {
		d.rows.WithLabelValues(d.label(org), reason).Add(float64(rows))
	}
}

func (d *discards) countBytes(org tenant.ID, reason string, n int64) {
	d.bytes.WithLabelValues(d.label(org), reason).Add(float64(n))
}
