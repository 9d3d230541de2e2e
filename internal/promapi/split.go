package promapi

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/valyala/fastjson"
)

// maxRangeParts bounds the parts of one query.
const maxRangeParts = 1000

// SplitRange divides a range query into queries over parts of its steps, in their order, so that JoinRange makes the same answer of theirs.
// Parts begin at multiples of the interval, or of the longest range in the query if that is longer. It returns nil for everything that
// is to be asked as a whole: other questions, queries with a limit or statistics, and queries whose value at one step depends on others,
// or of which only the whole may find that two of its series are one.
func SplitRange(q Question, interval time.Duration) []Question {
	if q.Path != "query_range" || interval <= 0 {
		return nil
	}
	for _, key := range []string{"limit", "stats"} {
		if q.Form.Get(key) != "" {
			return nil
		}
	}
	start, err := parseTime(q.Form.Get("start"))
	if err != nil {
		return nil
	}
	end, err := parseTime(q.Form.Get("end"))
	if err != nil {
		return nil
	}
	step, err := parseDuration(q.Form.Get("step"))
	if err != nil || step < time.Millisecond || end.Before(start) || end.Sub(start)/step > maxPoints {
		return nil
	}
	expr, err := newParser().ParseExpr(q.Form.Get("query"))
	if err != nil {
		return nil
	}
	longest, ok := independent(expr)
	if !ok {
		return nil
	}
	interval = max(interval, longest, step)
	if n := end.Sub(start) / interval; n >= maxRangeParts {
		interval *= n/maxRangeParts + 1
	}
	return cutSteps(q, start.UnixMilli(), end.UnixMilli(), step.Milliseconds(), interval.Milliseconds())
}

// cutSteps returns a question for the steps of each interval, nil for a single one. Times are milliseconds.
func cutSteps(q Question, start, end, step, interval int64) []Question {
	var parts []Question
	for from := start; from <= end; {
		next := from - from%interval // the end of the interval that from lies in
		if from >= 0 || from%interval == 0 {
			next += interval
		}
		last := from + (min(next-1, end)-from)/step*step
		part := q
		part.Form = maps.Clone(q.Form)
		part.Form["start"], part.Form["end"] = []string{seconds(from)}, []string{seconds(last)}
		parts = append(parts, part)
		from = last + step
	}
	if len(parts) < 2 {
		return nil
	}
	return parts
}

func seconds(millis int64) string { return string(appendTime(nil, millis)) }

// independent reports whether each step of a query is computed without the others, and its longest range.
func independent(expr parser.Expr) (longest time.Duration, ok bool) {
	ok = true
	unions, wholes := false, false // of series with other names; of what is computed over all steps at once
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.VectorSelector:
			ok = ok && n.StartOrEnd == 0 && n.Name != ""
		case *parser.MatrixSelector:
			longest = max(longest, n.Range)
		case *parser.SubqueryExpr:
			ok = ok && n.StartOrEnd == 0
			longest, wholes = max(longest, n.Range), true
		case *parser.UnaryExpr:
			wholes = true
		case *parser.BinaryExpr:
			unions = unions || n.Op == parser.LOR
		case *parser.AggregateExpr:
			ok = ok && n.Op != parser.LIMITK && n.Op != parser.LIMIT_RATIO
		case *parser.Call:
			switch n.Func.Name {
			case "sort", "sort_desc", "sort_by_label", "sort_by_label_desc", "label_replace", "label_join", "info", "start", "end", "range", "step":
				ok = false
			}
		}
		return nil
	})
	return longest, ok && (!unions || !wholes)
}

// JoinRange makes one answer of those to the parts of SplitRange. The first that failed is the answer of all.
func JoinRange(parts []Answer) Answer {
	var reader fastjson.Parser
	series := make(map[string]*joined)
	var warnings, infos []string
	for _, p := range parts {
		if p.Status != http.StatusOK {
			return p
		}
		v, err := reader.ParseBytes(p.Body)
		if err != nil {
			return failure(fmt.Errorf("read a part of an answer: %w", err))
		}
		for _, s := range v.GetArray("data", "result") {
			key := string(s.Get("metric").MarshalTo(nil))
			j := series[key]
			if j == nil {
				j = &joined{labels: readLabels(s.GetObject("metric"))}
				series[key] = j
			}
			j.values = appendPoints(j.values, s.GetArray("values"))
			j.histograms = appendPoints(j.histograms, s.GetArray("histograms"))
		}
		warnings = appendNew(warnings, v.GetArray("warnings"))
		infos = appendNew(infos, v.GetArray("infos"))
	}
	sorted := slices.SortedFunc(maps.Values(series), func(a, b *joined) int { return labels.Compare(a.labels, b.labels) })
	body := []byte(`{"status":"success","data":{"resultType":"matrix","result":[`)
	for i, j := range sorted {
		if i > 0 {
			body = append(body, ',')
		}
		body = j.appendTo(body)
	}
	body = append(body, ']', '}')
	body = appendNotes(body, `,"warnings":`, warnings)
	body = appendNotes(body, `,"infos":`, infos)
	return Answer{Status: http.StatusOK, Body: append(body, '}')}
}

// joined is one series of an answer; its points are JSON, divided by commas.
type joined struct {
	labels             labels.Labels
	values, histograms []byte
}

func (j *joined) appendTo(dst []byte) []byte {
	dst = appendLabels(append(dst, `{"metric":`...), j.labels)
	for _, points := range []struct {
		key  string
		text []byte
	}{{`,"values":[`, j.values}, {`,"histograms":[`, j.histograms}} {
		if len(points.text) > 0 {
			dst = append(append(append(dst, points.key...), points.text...), ']')
		}
	}
	return append(dst, '}')
}

func appendPoints(dst []byte, points []*fastjson.Value) []byte {
	for _, p := range points {
		if len(dst) > 0 {
			dst = append(dst, ',')
		}
		dst = p.MarshalTo(dst)
	}
	return dst
}

func readLabels(o *fastjson.Object) labels.Labels {
	out := make(map[string]string)
	o.Visit(func(key []byte, v *fastjson.Value) { out[string(key)] = string(v.GetStringBytes()) })
	return labels.FromMap(out)
}

// appendNew adds the notes that are not there yet.
func appendNew(dst []string, notes []*fastjson.Value) []string {
	for _, n := range notes {
		if text := string(n.GetStringBytes()); !slices.Contains(dst, text) {
			dst = append(dst, text)
		}
	}
	return dst
}
