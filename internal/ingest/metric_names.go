package ingest

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/valyala/fastjson"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/signal"
)

// metricLabels returns the label names that the records bring for each metric's stream, so that SQL shows labels as columns. Only
// names not published before are asked of the catalog.
func (n *names) metricLabels(ctx context.Context, dataset catalog.Stream, records []arrow.RecordBatch) ([]catalog.PublishedColumns, error) {
	var out []catalog.PublishedColumns
	for metric, labels := range newLabels(n, dataset, records) {
		k, err := n.one(ctx, signal.Stream{Org: dataset.Org, Database: dataset.Stream.Database, Signal: signal.Metrics, Name: metric})
		if err != nil {
			return nil, err
		}
		columns, err := n.columns(ctx, k, labels)
		if err != nil {
			return nil, err
		}
		p := catalog.PublishedColumns{Stream: k.ID, Columns: make(map[catalog.ColumnID]signal.TypeSet, len(labels))}
		for _, c := range columns {
			p.Columns[c.ID] = signal.SetOf(signal.String)
		}
		out = append(out, p)
	}
	return out, nil
}

// newLabels returns the label names of each metric that its stream has not yet.
func newLabels(n *names, dataset catalog.Stream, records []arrow.RecordBatch) map[string][]string {
	var seen signal.SeriesNumbers
	out := make(map[string][]string)
	var p fastjson.Parser
	for _, r := range records {
		metrics, labels := textColumn(r, signal.MetricColumn), textColumn(r, signal.LabelsColumn)
		if metrics == nil || labels == nil {
			continue
		}
		for i := range metrics.Len() {
			s := signal.Series{Metric: metrics.Value(i), Labels: labels.Value(i)}
			if known := seen.Len(); int(seen.Of(s)) < known {
				continue
			}
			stream := signal.Stream{Org: dataset.Org, Database: dataset.Stream.Database, Signal: signal.Metrics, Name: s.Metric}
			if v, err := p.Parse(s.Labels); err == nil {
				out[s.Metric] = appendUnknown(out[s.Metric], n.known(stream), v)
			}
			if len(out[s.Metric]) == 0 {
				delete(out, s.Metric)
			}
		}
	}
	return out
}

// appendUnknown appends the keys of a label set that the stream does not have and the list does not hold.
func appendUnknown(list []string, k *knownStream, labels *fastjson.Value) []string {
	object, err := labels.Object()
	if err != nil {
		return list
	}
	object.Visit(func(key []byte, _ *fastjson.Value) {
		if k != nil {
			k.mu.RLock()
			_, ok := k.mu.columns[string(key)]
			k.mu.RUnlock()
			if ok {
				return
			}
		}
		if !slices.Contains(list, string(key)) {
			list = append(list, string(key))
		}
	})
	return list
}

func textColumn(r arrow.RecordBatch, name string) *array.String {
	idx := r.Schema().FieldIndices(name)
	if len(idx) == 0 {
		return nil
	}
	col, _ := r.Column(idx[0]).(*array.String)
	return col
}
