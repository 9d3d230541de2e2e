package compactor

import "github.com/prometheus/client_golang/prometheus"

// metrics are what the role counts.
type metrics struct {
	expired, deleted, orphans prometheus.Counter
	merged, unreadable        prometheus.Counter
	indexes                   prometheus.Counter
	failures                  prometheus.Counter
	memory                    prometheus.Gauge
	issues                    *prometheus.CounterVec // by kind and reason
}

// Kinds of what the reconciler finds, and why.
const (
	kindSegment = "segment"
	kindIndex   = "index"
	kindObject  = "object"

	reasonMissing  = "missing"  // no such object
	reasonSize     = "size"     // the object is of another size
	reasonChecksum = "checksum" // the object's bytes are others
	reasonOrphan   = "orphan"   // no segment has the object
)

func newMetrics(reg prometheus.Registerer) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		expired:    counter("millstream_compactor_expired_segments_total", "Segments retired because all their rows had expired."),
		deleted:    counter("millstream_compactor_deleted_objects_total", "Data objects of retired segments that were deleted."),
		orphans:    counter("millstream_compactor_orphan_objects_total", "Objects without a segment that were deleted."),
		merged:     counter("millstream_compactor_merged_segments_total", "Segments that were merged into larger ones."),
		unreadable: counter("millstream_compactor_unreadable_segments_total", "Segments that could not be read; they are left alone."),
		indexes:    counter("millstream_compactor_rebuilt_indexes_total", "Search indexes that were built because they were missing or damaged."),
		failures:   counter("millstream_compactor_failures_total", "Rounds with a failure; the next round tries again."),
		memory: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "millstream_compactor_merge_reserved_bytes", Help: "Memory that running merges have reserved of compactor.memory_limit.",
		}),
		issues: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "storage_reconciler_issues_total",
			Help: "Differences between catalog and object store, counted at every look while they last.",
		}, []string{"kind", "reason"}),
	}
	for kind, reasons := range map[string][]string{
		kindSegment: {reasonMissing, reasonSize, reasonChecksum},
		kindIndex:   {reasonMissing, reasonSize, reasonChecksum},
		kindObject:  {reasonOrphan},
	} {
		for _, reason := range reasons {
			m.issues.WithLabelValues(kind, reason)
		}
	}
	if reg != nil {
		reg.MustRegister(m.expired, m.deleted, m.orphans, m.merged, m.unreadable, m.indexes, m.failures, m.memory, m.issues)
	}
	return m
}
