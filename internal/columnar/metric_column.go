package columnar

import (
	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/signal"
)

// metricColumns are the columns of metrics datasets; a column's id is its place, from 1. Places are never reused.
//
//nolint:gochecknoglobals // an immutable list
var metricColumns = [...]string{
	signal.MetricColumn, signal.LabelsColumn, signal.ValueColumn, signal.KindColumn, signal.UnitColumn, signal.DescriptionColumn,
	signal.TemporalityColumn, signal.MonotonicColumn, signal.StartColumn, signal.HistogramColumn, signal.ExemplarsColumn,
	signal.FlagsColumn, signal.OverflowColumn, signal.VersionColumn,
}

// MetricColumn is the Columns of metrics datasets, whose columns are the same for all.
func MetricColumn(name string) (catalog.Column, bool) {
	for i, c := range metricColumns {
		if c == name {
			return catalog.Column{ID: catalog.ColumnID(i + 1), Name: c, Physical: c}, true
		}
	}
	return catalog.Column{}, false
}
