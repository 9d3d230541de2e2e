package promstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/signal"
)

// textScan reads text columns of the rows of some series, whatever samples they hold.
type textScan struct {
	collector *collector // chooses the series; it collects no samples
	columns   []string
	// visit takes a row that has a value in at least one of the columns. texts are in the order of columns, empty where there is none.
	// They are valid during the call.
	visit func(s *series, key seriesKey, texts []string) error
}

func (t *textScan) run(ctx context.Context, q *querier) error {
	for _, r := range q.picture.fresh {
		if err := t.record(r); err != nil {
			return fmt.Errorf("read fresh rows: %w", err)
		}
	}
	var wanted []catalog.Segment
	for _, s := range q.picture.segments {
		if t.collector.mayHold(&s) && t.has(&s) {
			wanted = append(wanted, s)
		}
	}
	paths, err := q.picture.pin(ctx, q.store.deps.Files, wanted)
	if err != nil {
		return err
	}
	for i, s := range wanted {
		if err := t.segment(ctx, paths[i]); err != nil {
			return fmt.Errorf("read segment %d: %w", s.ID, err)
		}
	}
	return nil
}

// has reports whether a segment has one of the columns.
func (t *textScan) has(s *catalog.Segment) bool {
	for _, c := range s.Columns {
		if slices.Contains(t.columns, c.Physical) {
			return true
		}
	}
	return false
}

func (t *textScan) record(r arrow.RecordBatch) error {
	cols := make([]*array.String, len(t.columns))
	found := false
	for i, name := range t.columns {
		for _, j := range r.Schema().FieldIndices(name) {
			if c, ok := r.Column(j).(*array.String); ok {
				cols[i], found = c, true
			}
		}
	}
	rows := rowsOf(r)
	if !found || rows.metrics == nil || rows.labels == nil {
		return nil
	}
	texts := make([]string, len(cols))
	for row := range int(r.NumRows()) {
		present := false
		for i, c := range cols {
			texts[i] = ""
			if c != nil && c.IsValid(row) {
				texts[i], present = c.Value(row), true
			}
		}
		if !present {
			continue
		}
		key := seriesKey{rows.metrics.Value(row), rows.labels.Value(row)}
		s, err := t.collector.findBorrowed(key.metric, key.labels)
		if err == nil && s != nil {
			err = t.visit(s, key, texts)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *textScan) segment(ctx context.Context, path string) (err error) {
	r, err := columnar.OpenSeriesReader(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	f := segmentReader{collector: t.collector, reader: r}
	for group := range r.Groups() {
		if f.pruned(r.SeriesFile, group) {
			continue
		}
		if err := t.group(ctx, &f, group); err != nil {
			return err
		}
	}
	return nil
}

func (t *textScan) group(ctx context.Context, f *segmentReader, group int) (err error) {
	if f.runs, err = f.reader.Runs(ctx, f.runs[:0], group); err != nil {
		return err
	}
	rows := make(map[int][]string)
	for i, name := range t.columns {
		if !f.reader.Has(name) {
			continue
		}
		err := f.reader.Texts(ctx, group, name, func(row int, text []byte) {
			if rows[row] == nil {
				rows[row] = make([]string, len(t.columns))
			}
			rows[row][i] = string(text)
		})
		if err != nil {
			return err
		}
	}
	if len(rows) == 0 {
		return nil
	}
	for _, run := range f.runs {
		s, err := f.find(run.Metric, run.Labels)
		if err != nil {
			return err
		}
		for row := run.Start; s != nil && row < run.End; row++ {
			if texts := rows[row]; texts != nil {
				if err := t.visit(s, seriesKey{run.Metric, run.Labels}, texts); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// scanTexts runs a scan with a querier of its own.
func (q *querier) scanTexts(ctx context.Context, s *selector, columns []string, visit func(*series, seriesKey, []string) error) error {
	if err := q.prepare(ctx); err != nil {
		return err
	}
	c := newCollector(s, q.picture.horizon, q.mint, q.maxt)
	c.limits, c.loaded = q.limits, &q.loaded
	scan := textScan{collector: c, columns: columns, visit: visit}
	return scan.run(ctx, q)
}

// metadataColumns and exemplarColumns are what the scans read.
func metadataColumns() []string {
	return []string{signal.KindColumn, signal.UnitColumn, signal.DescriptionColumn}
}

func exemplarColumns() []string { return []string{signal.ExemplarsColumn} }
