package promstore

import (
	"context"
	"slices"
	"strings"

	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/signal"
)

// otlpGroup hands the rows of OTLP in a row group, those that say a kind, to the translator.
func (f *segmentReader) otlpGroup(ctx context.Context, group int) error {
	if len(f.kinds) == 0 {
		return nil
	}
	units, err := textsByRow(ctx, f.reader, group, signal.UnitColumn)
	if err != nil {
		return err
	}
	temporalities, err := textsByRow(ctx, f.reader, group, signal.TemporalityColumn)
	if err != nil {
		return err
	}
	rows, err := f.readOTLP(ctx, group)
	if err != nil {
		return err
	}
	var monotonic []bool
	if f.reader.Has(signal.MonotonicColumn) {
		if monotonic, err = f.reader.Bools(ctx, group, signal.MonotonicColumn); err != nil {
			return err
		}
	}
	for _, run := range f.runs {
		from, to := f.visible(run.Metric)
		for row := run.Start; row < run.End; row++ {
			kind, ok := f.kinds[row]
			x := &rows[row]
			if !ok || x.millis < from || x.millis > to || !x.hasValue && !x.noValue && x.histogram == nil {
				continue
			}
			m := otlpMetric{
				metric: run.Metric, labels: run.Labels, kind: kind, unit: units[row], temporality: temporalities[row],
				monotonic: at(monotonic, row),
			}
			if err := f.translator().row(m, x); err != nil {
				return err
			}
		}
	}
	if f.otlp == nil {
		return nil
	}
	return f.otlp.flush(f.version)
}

// textsByRow returns a text column by row, without the rows that have none. Equal texts that follow each other are one in memory.
func textsByRow(ctx context.Context, r *columnar.SeriesReader, group int, column string) (map[int]string, error) {
	if r.Empty(group, column) {
		return nil, nil
	}
	out := make(map[int]string)
	last := ""
	err := r.Texts(ctx, group, column, func(row int, text []byte) {
		if string(text) != last {
			last = strings.Clone(string(text))
		}
		out[row] = last
	})
	return out, err
}

// readOTLP reads the samples of a row group.
func (f *segmentReader) readOTLP(ctx context.Context, group int) ([]otlpRow, error) {
	out := make([]otlpRow, f.reader.Rows(group))
	times, err := f.reader.Ints(ctx, nil, group, signal.TimeColumn)
	if err != nil {
		return nil, err
	}
	for i, t := range times {
		out[i].millis = millisOf(t)
	}
	if f.reader.Has(signal.ValueColumn) {
		values, present, err := f.reader.Floats(ctx, nil, group, signal.ValueColumn)
		if err != nil {
			return nil, err
		}
		for i, v := range values {
			out[i].value, out[i].hasValue = v, len(present) == 0 || present[i]
		}
	}
	if f.reader.Has(signal.StartColumn) {
		starts, _, err := f.reader.NullableInts(ctx, group, signal.StartColumn)
		if err != nil {
			return nil, err
		}
		for i, t := range starts {
			out[i].start = millisOf(t)
		}
	}
	if f.reader.Has(signal.FlagsColumn) {
		flags, _, err := f.reader.NullableInts(ctx, group, signal.FlagsColumn)
		if err != nil {
			return nil, err
		}
		for i, v := range flags {
			out[i].noValue = v&signal.FlagNoValue != 0
		}
	}
	if f.reader.Has(signal.HistogramColumn) {
		return out, f.reader.Texts(ctx, group, signal.HistogramColumn, func(row int, text []byte) {
			out[row].histogram = slices.Clone(text)
		})
	}
	return out, nil
}
