//go:build peers

package prometheus_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"
)

// choices are what stands for a placeholder of a template, each in turn.
func choices() map[string][]string {
	list := func(s string) []string { return strings.Fields(s) }
	arithmetic, comparison := list("+ - * / % ^"), list("== != < > <= >=")
	return map[string][]string{
		"RANGE": list("1s 15s 1m 5m 15m 1h"), "OFFSET": list("1m 5m 10m"),
		"AGG": list("sum avg max min count stddev stdvar"), "RANK": list("topk bottomk"),
		"OVERTIME": list("sum avg max min count stddev stdvar absent last"),
		"Q":        list("-0.5 0.1 0.5 0.75 0.95 0.90 0.99 1 1.5"),
		"ARITH":    arithmetic, "CMP": comparison, "OP": append(arithmetic, comparison...),
		"MATH": list("abs ceil floor exp sqrt ln log2 log10 round"),
		"RATE": list("delta rate increase"), "IRATE": list("idelta irate"), "CLAMP": list("clamp_min clamp_max"),
		"DATE": list("day_of_month day_of_week days_in_month hour minute month year"),
	}
}

// expand replaces the placeholders, <NAME>, of a template in all ways.
func expand(template string) []string {
	for name, values := range choices() {
		before, after, ok := strings.Cut(template, "<"+name+">")
		if !ok {
			continue
		}
		var out []string
		for _, v := range values {
			out = append(out, expand(before+v+after)...)
		}
		return out
	}
	return []string{template}
}

// templates are the questions of the Prometheus compliance tester (prometheus/compliance, promql/promql-test-queries.yml at 67b8327), over
// the names of our shop; after "native" come some that it lacks. M, C and D stand for names that come often.
func templates(t testing.TB) []string {
	t.Helper()
	names := strings.NewReplacer("M!", "shop_memory_usage_bytes", "C!", "shop_cpu_usage_seconds_total", "N!", "shop_num_cpus",
		"L!", "shop_batch_last_success_timestamp_seconds", "H!", "shop_api_request_duration_seconds", "HOST!", "shop.example.com")
	var out []string
	for line := range strings.Lines(questions) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, expand(names.Replace(line))...)
		}
	}
	return out
}

const questions = `
# numbers
42
1.234
.123
1.23e-3
0x3d
Inf
+Inf
-Inf
NaN
# selectors
M!
{__name__="M!"}
M!{type="free"}
M!{type!="free"}
M!{instance=~"HOST!:.*"}
M!{instance=~"host"}
M!{instance!~".*:10000"}
M!{type="free", instance!="HOST!:10000"}
{type="free", instance!="HOST!:10000"}
{__name__=~".*"}
there_is_no_such_metric
M! offset <OFFSET>
M! offset -<OFFSET>
shop_intermittent
# aggregations
<AGG>(M!)
<AGG>(there_is_no_such_metric)
<AGG> by() (M!)
<AGG> by(instance) (M!)
<AGG> by(instance, type) (M!)
<AGG> by(no_such_label) (M!)
<AGG> without() (M!)
<AGG> without(instance) (M!)
<AGG> without(instance, type) (M!)
<AGG> without(no_such_label) (M!)
<RANK> (3, M!)
<RANK> by(instance) (2, M!)
<RANK> without(instance) (2, M!)
<RANK> without() (2, M!)
quantile(<Q>, M!)
avg(max by(type) (M!))
# binary operators
1 * 2 + 4 / 6 - 10 % 2 ^ 2
N! + (1 <CMP> bool 2)
M! <OP> 1.2345
M! <CMP> bool 1.2345
1.2345 <CMP> bool M!
0.12345 <OP> M!
(1 * 2 + 4 / 6 - (10%7)^2) <OP> M!
M! <OP> (1 * 2 + 4 / 6 - 10)
timestamp(M! * 1)
timestamp(-M!)
M! <OP> on(instance, job, type) M!
sum by(instance, type) (M!) <OP> on(instance, type) group_left(job) M!
M! <CMP> bool on(instance, job, type) M!
M! / on(instance, job, type, __name__) M!
sum without(job) (M!) / on(instance, type) M!
sum without(job) (M!) / on(instance, type) group_left M!
sum without(job) (M!) / on(instance, type) group_left(job) M!
M! / on(instance, job) group_left N!
M! / on(instance, type, job, no_such_label) M!
N! * Inf
N! * -Inf
N! * NaN
M! + -(1)
-M!
-1 ^ 2
1 <ARITH> time()
time() <ARITH> 1
time() <CMP> bool 1
1 <CMP> bool time()
time() <ARITH> time()
time() <CMP> bool time()
time() <OP> M!
M! <OP> time()
# functions
<OVERTIME>_over_time(M![<RANGE>])
quantile_over_time(<Q>, M![<RANGE>])
timestamp(N!)
timestamp(timestamp(N!))
<MATH>(M!)
<MATH>(-M!)
<RATE>(there_is_no_such_metric[5m])
<RATE>(C![<RANGE>])
deriv(shop_disk_usage_bytes[<RANGE>])
predict_linear(shop_disk_usage_bytes[<RANGE>], 600)
time()
label_replace(N!, "job", "destination-value-$1", "instance", "HOST!:(.*)")
label_replace(N!, "job", "destination-value-$1", "instance", "host:(.*)")
label_replace(N!, "job", "$1-$2", "instance", "sho(.*):(.*)")
label_replace(N!, "job", "value-$1", "nonexistent-src", "source-value-(.*)")
label_replace(N!, "job", "value-$1", "nonexistent-src", "(.*)")
label_replace(N!, "job", "value-$1", "instance", "non-matching-regex")
label_replace(N!, "job", "", "dst", ".*")
label_replace(N!, "job", "value-$1", "src", "(.*")
label_replace(N!, "~invalid", "", "src", "(.*)")
label_replace(N!, "instance", "", "", "")
label_join(N!, "new_label", "-", "instance", "job")
label_join(N!, "job", "-", "instance", "job")
label_join(N!, "job", "-", "instance")
label_join(N!, "~invalid", "-", "instance")
<DATE>()
<DATE>(L! offset <OFFSET>)
<IRATE>(C![<RANGE>])
<CLAMP>(M!, 2)
clamp(M!, 0, 1)
clamp(M!, 0, 1000000000000)
clamp(M!, 1000000000000, 0)
clamp(M!, 1000000000000, 1000000000000)
resets(C![<RANGE>])
changes(L![<RANGE>])
vector(1.23)
vector(time())
histogram_quantile(<Q>, rate(H!_bucket[1m]))
histogram_quantile(0.9, there_is_no_such_metric)
histogram_quantile(0.9, M!)
histogram_quantile(0.9, {__name__=~"H!_.+"})
count_values("value", H!_bucket)
absent(M!)
absent(there_is_no_such_metric)
# subqueries
max_over_time((time() - max(L!) < 1000)[5m:10s] offset 5m)
avg_over_time(rate(C![1m])[2m:10s])
# native histograms, odd values, staleness, what the list has none of
shop_latency_seconds
sum(shop_latency_seconds)
rate(shop_latency_seconds[<RANGE>])
histogram_quantile(<Q>, sum(rate(shop_latency_seconds[5m])))
histogram_count(increase(shop_latency_seconds[15m]))
histogram_avg(rate(shop_latency_seconds[5m]))
histogram_fraction(0, 2, rate(shop_latency_seconds[5m]))
sum(rate({__name__=~"shop_latency_seconds|C!"}[5m]))
shop_odd
<AGG>(shop_odd)
<OVERTIME>_over_time(shop_odd[5m])
sort_desc(shop_odd)
count_over_time(shop_intermittent[5m])
rate(shop_intermittent[5m])
present_over_time(shop_intermittent[1m])
M! @ end()
sum_over_time(C![5m] @ start())
rate(M![5m])
sum by (job, mode) (rate(C![5m])) / ignoring(mode) group_left sum by (job) (rate(C![5m]))
mad_over_time(M![5m])
double_exponential_smoothing(M![5m], 0.5, 0.5)
limitk(2, M!)
group by (type) (M!)
{"M!", type="free"}
sum(
M!{type="free"
`

// What a real Prometheus answers to the same samples, Millstream answers: rows in the buffer, and rows in files.
func TestCompliance(t *testing.T) {
	t.Parallel()
	peer := startReference(t)
	product := startProduct(t, "MS_INTAKE_FLUSH_INTERVAL_SECS", "3600")
	s := newShop()
	s.fill(t, product.HTTP, peer.base)
	all := templates(t)
	require.Len(t, all, 592, "539 questions of the tester and ours")
	t.Run("fresh", func(t *testing.T) { s.compare(t, product.HTTP+"/prometheus", peer.base, all) })
	require.NoError(t, product.Restart(t.Context())) // which flushes
	t.Run("flushed", func(t *testing.T) { s.compare(t, product.HTTP+"/prometheus", peer.base, all) })
}

// compare asks both servers every question, over ten minutes and at one instant.
func (s *shop) compare(t *testing.T, product, peer string, all []string) {
	seconds := func(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }
	answers := 0
	for _, q := range all {
		form := url.Values{
			"query": {q}, "start": {seconds(s.end.Add(-12 * time.Minute))}, "end": {seconds(s.end.Add(-2 * time.Minute))}, "step": {"10"},
		}
		want := ask(t, peer, "query_range", form)
		if data, _ := want.Data.(map[string]any); want.code == 200 && !emptyList(data["result"]) {
			answers++
		}
		if d := difference(ask(t, product, "query_range", form), want, true); d != "" {
			t.Errorf("%s: %s", q, d)
		}
		form = url.Values{"query": {q}, "time": {seconds(s.end.Add(-2 * time.Minute))}}
		ordered := strings.HasPrefix(q, "topk") || strings.HasPrefix(q, "bottomk") || strings.HasPrefix(q, "sort")
		want = ask(t, peer, "query", form)
		if d := difference(ask(t, product, "query", form), want, ordered); d != "" {
			t.Errorf("%s at one instant: %s", q, d)
		}
	}
	require.Greater(t, answers, 500, "questions with an answer")
}

func emptyList(v any) bool {
	list, ok := v.([]any)
	return ok && len(list) == 0
}

// The comparison sees a difference of value, labels, number of series and error.
func TestDifferencesAreSeen(t *testing.T) {
	t.Parallel()
	peer := startReference(t)
	newShop().requests(func(r *prompb.WriteRequest) { write(t, peer.base, r) })
	at := strconv.FormatInt(time.Now().Add(-5*time.Minute).Unix(), 10)
	answer := func(q string) envelope { return ask(t, peer.base, "query", url.Values{"query": {q}, "time": {at}}) }
	const q = "shop_num_cpus"
	require.Empty(t, difference(answer(q), answer(q), true))
	for _, other := range []string{
		q + " * 1.00000001", `label_replace(` + q + `, "job", "x", "", "")`, q + `{instance=~".*0"}`, q + "[", q + "[1m]",
		"quantile(2, " + q + ")", "vector(4)",
	} {
		require.NotEmpty(t, difference(answer(other), answer(q), false), other)
	}
}
