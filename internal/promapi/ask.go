package promapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/valyala/fastjson"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
)

// Language is the name of PromQL in questions of the query API.
const Language = "promql"

// Ask answers a PromQL statement with rows, for the query API: one a sample, with the columns _timestamp, _labels (JSON, with the metric's
// name as __name__), value, and _histogram where a sample is one. With a step the statement is evaluated from Start to End, both
// inclusive, an absent End being now; without one at End, else Start, else now. A scalar or string is a row without labels.
func Ask(ctx context.Context, a Answerer, q answer.Question) (answer.Result, error) {
	if a == nil {
		return nil, fault.New(fault.Unavailable, "PromQL is not answered by this node")
	}
	began := time.Now()
	ask := Question{
		Org: q.Org, Orgs: q.Orgs, Actor: q.Actor, ActorPath: q.ActorPath, Database: q.Database,
		Path: "query", Form: url.Values{"query": {q.Statement}},
	}
	if q.Limit > 0 {
		ask.Form.Set("limit", strconv.Itoa(q.Limit))
	}
	switch {
	case q.Step != "":
		if q.Start.IsZero() {
			return nil, fault.New(fault.Invalid, "a step needs a start")
		}
		if q.End.IsZero() {
			q.End = began
		}
		ask.Path = "query_range"
		ask.Form.Set("start", q.Start.UTC().Format(time.RFC3339Nano))
		ask.Form.Set("end", q.End.UTC().Format(time.RFC3339Nano))
		ask.Form.Set("step", q.Step)
	case !q.End.IsZero():
		ask.Form.Set("time", q.End.UTC().Format(time.RFC3339Nano))
	case !q.Start.IsZero():
		ask.Form.Set("time", q.Start.UTC().Format(time.RFC3339Nano))
	}
	given := a.Answer(ctx, ask)
	v, err := fastjson.ParseBytes(given.Body)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "read an answer")
	}
	if given.Status != http.StatusOK {
		return nil, refusal(given, v)
	}
	return newTable(v, began)
}

// refusal gives a failed answer the kind that its status stands for.
func refusal(a Answer, v *fastjson.Value) error {
	text := string(v.GetStringBytes("error"))
	kind := fault.Internal
	switch a.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		kind = fault.Invalid
	case http.StatusNotFound:
		kind = fault.NotFound
	case http.StatusTooManyRequests:
		kind = fault.Limited
	case fault.StatusClientClosed:
		kind = fault.Canceled
	case http.StatusServiceUnavailable:
		kind = fault.Unavailable
		if string(v.GetStringBytes("errorType")) == timedOut.name {
			kind = fault.Deadline
		}
	}
	return fault.Wrap(kind, a.Err, "%s", text).After(fault.RetryAfter(a.Err))
}

// table is the rows of an answer. It is an answer.Result.
type table struct {
	record arrow.RecordBatch // nil once handed over
	meta   answer.Meta
	schema *arrow.Schema
}

func newTable(v *fastjson.Value, began time.Time) (*table, error) {
	t := &table{}
	b := signal.NewBuilder()
	data := v.Get("data")
	var err error
	switch string(data.GetStringBytes("resultType")) {
	case "vector", "matrix":
		for _, series := range data.GetArray("result") {
			if err == nil {
				err = appendRows(b, series)
			}
		}
	default: // a scalar or a string
		err = appendRow(b, nil, data.Get("result"), false)
	}
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"warnings", "infos"} {
		for _, note := range v.GetArray(key) {
			t.meta.Warnings = append(t.meta.Warnings, string(note.GetStringBytes()))
		}
	}
	t.meta.Stats.Rows = int64(b.Rows())
	t.meta.Stats.TookMS = float64(time.Since(began).Microseconds()) / 1000
	if t.record = b.Finish(); t.record == nil {
		t.schema = named(arrow.NewSchema([]arrow.Field{{Name: signal.TimeColumn, Type: signal.TimestampType}}, nil))
		return t, nil
	}
	t.schema = named(t.record.Schema())
	return t, nil
}

// named gives columns the names of their types as SQL has them.
func named(s *arrow.Schema) *arrow.Schema {
	fields := s.Fields()
	for i, f := range fields {
		name := "VARCHAR"
		switch typ, _ := signal.FieldType(f); {
		case f.Name == signal.TimeColumn:
			name = "TIMESTAMP WITH TIME ZONE"
		case typ == signal.Float64:
			name = "DOUBLE"
		case typ == signal.JSON:
			name = "JSON"
		}
		fields[i].Metadata = arrow.NewMetadata([]string{answer.TypeKey}, []string{name})
	}
	return arrow.NewSchema(fields, nil)
}

// appendRows appends the samples of one series.
func appendRows(b *signal.Builder, series *fastjson.Value) error {
	labels := series.Get("metric").MarshalTo(nil)
	for _, key := range []string{"value", "histogram"} {
		if p := series.Get(key); p != nil {
			if err := appendRow(b, labels, p, key == "histogram"); err != nil {
				return err
			}
		}
	}
	for _, key := range []string{"values", "histograms"} {
		for _, p := range series.GetArray(key) {
			if err := appendRow(b, labels, p, key == "histograms"); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendRow appends one point, [time, value].
func appendRow(b *signal.Builder, labels []byte, point *fastjson.Value, isHistogram bool) error {
	pair := point.GetArray()
	if len(pair) != 2 {
		return fault.New(fault.Internal, "an answer's point has %d parts", len(pair))
	}
	seconds, err := pair[0].Float64()
	if err != nil {
		return fault.Wrap(fault.Internal, err, "read an answer's time")
	}
	b.BeginRow()
	if labels != nil {
		b.SetJSON(b.OwnColumn(signal.LabelsColumn), labels)
	}
	text := pair[1].GetStringBytes()
	switch v, err := strconv.ParseFloat(string(text), 64); {
	case isHistogram:
		b.SetJSON(b.OwnColumn(signal.HistogramColumn), pair[1].MarshalTo(nil))
	case err == nil:
		b.SetFloat64(b.OwnColumn(signal.ValueColumn), v)
	default:
		b.SetString(b.OwnColumn("text"), text)
	}
	b.EndRow(int64(math.Round(seconds*1000)) * int64(time.Millisecond))
	return nil
}

// Schema implements answer.Source.
func (t *table) Schema() *arrow.Schema { return t.schema }

// Next implements answer.Source.
func (t *table) Next(context.Context) (arrow.RecordBatch, error) {
	if t.record == nil {
		return nil, io.EOF
	}
	r := t.record
	t.record = nil
	return r, nil
}

// Meta implements answer.Result.
func (t *table) Meta() answer.Meta { return t.meta }

// Close implements answer.Result.
func (t *table) Close() error {
	if t.record != nil {
		t.record.Release()
		t.record = nil
	}
	return nil
}

// StepText reads the step of a question: a number of seconds or a duration such as "15s", "1h30m".
func StepText(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	text := string(raw)
	if raw[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			return "", fault.Wrap(fault.Invalid, err, "step")
		}
	}
	d, err := parseDuration(text)
	if err == nil && d <= 0 {
		err = fmt.Errorf("step %q is not positive", text)
	}
	if err != nil {
		return "", fault.Wrap(fault.Invalid, err, "step: %s", err)
	}
	return text, nil
}
