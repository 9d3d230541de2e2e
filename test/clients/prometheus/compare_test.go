//go:build peers

package prometheus_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

// envelope is an answer of the HTTP API, read.
type envelope struct {
	code      int
	Status    string   `json:"status"`
	Data      any      `json:"data"`
	ErrorType string   `json:"errorType"`
	Error     string   `json:"error"`
	Warnings  []string `json:"warnings"`
	Infos     []string `json:"infos"`
}

// ask calls a path below a base URL with a form by POST.
func ask(t testing.TB, base, path string, form url.Values) envelope {
	t.Helper()
	return askAs(t, base, "", path, form)
}

func askAs(t testing.TB, base, org, path string, form url.Values) envelope {
	t.Helper()
	res, err := mstest.Client{Base: base, Org: org}.Do(t.Context(), http.MethodPost, "/api/v1/"+path, []byte(form.Encode()),
		"Content-Type", "application/x-www-form-urlencoded")
	require.NoError(t, err)
	return read(t, path, res)
}

func read(t testing.TB, path string, res mstest.Response) envelope {
	t.Helper()
	e := envelope{code: res.Status}
	if len(res.Body) == 0 {
		return e
	}
	d := json.NewDecoder(bytes.NewReader(res.Body))
	d.UseNumber()
	require.NoError(t, d.Decode(&e), "%s answers %d %s", path, res.Status, res.Body)
	return e
}

// difference says where two answers differ, "" when they do not. Values may differ by 1e-9 of their size, since sums are added in another
// order; series of an instant answer may come in any order unless ordered is set.
func difference(got, want envelope, ordered bool) string {
	if got.code != want.code || got.Status != want.Status || got.ErrorType != want.ErrorType || got.Error != want.Error {
		return fmt.Sprintf("got %d %s %s %q, want %d %s %s %q",
			got.code, got.Status, got.ErrorType, got.Error, want.code, want.Status, want.ErrorType, want.Error)
	}
	for _, notes := range [][2][]string{{got.Warnings, want.Warnings}, {got.Infos, want.Infos}} {
		slices.Sort(notes[0])
		slices.Sort(notes[1])
		if !slices.Equal(notes[0], notes[1]) {
			return fmt.Sprintf("got notes %q, want %q", notes[0], notes[1])
		}
	}
	if !ordered {
		sortSeries(got.Data)
		sortSeries(want.Data)
	}
	return differ("data", got.Data, want.Data)
}

// sortSeries orders the result of an instant query, or a list of series, by labels.
func sortSeries(data any) {
	list, isList := data.([]any)
	if m, _ := data.(map[string]any); m["resultType"] == "vector" {
		list, _ = m["result"].([]any)
	}
	sortByLabels(list, isList)
}

// sortMatrix orders the series of a range by labels: those of a range selector come in any order.
func sortMatrix(data any) {
	m, _ := data.(map[string]any)
	list, _ := m["result"].([]any)
	sortByLabels(list, false)
}

// sortByLabels orders series by their labels, which they are or have as their metric.
func sortByLabels(list []any, bare bool) {
	key := func(x any) string {
		if series, ok := x.(map[string]any); ok && !bare {
			x = series["metric"]
		}
		text, _ := json.Marshal(x) // maps are written in the order of their keys
		return string(text)
	}
	slices.SortStableFunc(list, func(a, b any) int { return bytes.Compare([]byte(key(a)), []byte(key(b))) })
}

func differ(where string, got, want any) string {
	switch want := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(want) {
			return fmt.Sprintf("%s: got %v, want %v", where, short(got), short(want))
		}
		for k, w := range want {
			v, ok := g[k]
			if !ok {
				return fmt.Sprintf("%s: no %s in %v", where, k, short(got))
			}
			if d := differ(where+"."+k, v, w); d != "" {
				return d
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(want) {
			return fmt.Sprintf("%s: got %d elements %v, want %d %v", where, len(g), short(got), len(want), short(want))
		}
		for i := range want {
			if d := differ(fmt.Sprintf("%s[%d]", where, i), g[i], want[i]); d != "" {
				return d
			}
		}
		return ""
	case string:
		g, ok := got.(string)
		if !ok || g != want && !near(g, want) {
			return fmt.Sprintf("%s: got %v, want %q", where, got, want)
		}
		return ""
	default:
		if got != want {
			return fmt.Sprintf("%s: got %v, want %v", where, got, want)
		}
		return ""
	}
}

func near(a, b string) bool {
	x, err := strconv.ParseFloat(a, 64)
	if err != nil {
		return false
	}
	y, err := strconv.ParseFloat(b, 64)
	if err != nil || math.IsNaN(x) != math.IsNaN(y) || math.IsInf(x, 0) || math.IsInf(y, 0) {
		return false
	}
	return math.Abs(x-y) <= 1e-9*max(math.Abs(x), math.Abs(y))
}

func short(v any) string {
	const most = 400
	text := fmt.Sprint(v)
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}
