package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

const mediaProtobuf = "application/x-protobuf"

// longestVisit bounds how long a visit takes, so that live visits do not end in the future.
const longestVisit = 8 * time.Second

// shopServices are the services of the shop in the order in which a visit meets them.
func shopServices() []string {
	return []string{"web", "cart", "checkout", "payments", "inventory", "shipping"}
}

func shopProducts() []string {
	return []string{"wool socks", "rain coat", "teapot", "desk lamp", "bicycle bell", "garden hose", "paper kite", "chess set"}
}

// shopData is what the shop produced since the last take.
type shopData struct {
	logs    *bytes.Buffer // JSON lines
	lines   int
	traces  ptrace.Traces
	metrics pmetric.Metrics
}

func newShopData() shopData {
	return shopData{logs: &bytes.Buffer{}, traces: ptrace.NewTraces(), metrics: pmetric.NewMetrics()}
}

func (d *shopData) tracesBody() ([]byte, error) {
	return ptraceotlp.NewExportRequestFromTraces(d.traces).MarshalProto()
}

func (d *shopData) metricsBody() ([]byte, error) {
	return pmetricotlp.NewExportRequestFromMetrics(d.metrics).MarshalProto()
}

// shop invents visits. All that it does follows from the seed and the times it is given.
type shop struct {
	random  *rand.Rand
	data    shopData
	spans   map[string]ptrace.SpanSlice // of data.traces, by service
	badFrom time.Time                   // the payment provider is slow from here
	badTo   time.Time
	started time.Time
	scraped time.Time
	every   time.Duration // between points
	tally   map[string]*serviceTally
	orders  int
}

// serviceTally is what a service counts of itself.
type serviceTally struct {
	requests, failures int64
	seconds            float64
}

// newShop opens a shop that is about to produce rows over a span of time.
func newShop(seed uint64, start time.Time, span time.Duration, rows int) *shop {
	s := &shop{
		random: rand.New(rand.NewPCG(seed, 0x5107)), data: newShopData(), spans: map[string]ptrace.SpanSlice{},
		badFrom: start.Add(span * 70 / 100), badTo: start.Add(span * 80 / 100), started: start, scraped: start,
		every: scrapeInterval(rows, span), tally: map[string]*serviceTally{},
	}
	for _, name := range shopServices() {
		s.tally[name] = &serviceTally{}
	}
	return s
}

// take returns what was produced and begins anew.
func (s *shop) take() shopData {
	out := s.data
	s.data, s.spans = newShopData(), map[string]ptrace.SpanSlice{}
	return out
}

// visit is one trace: a customer does something.
type visit struct {
	*shop
	trace    pcommon.TraceID
	customer int
	product  string
}

// visit lets a customer come at a time.
func (s *shop) visit(at time.Time) {
	const customers = 400
	products := shopProducts()
	v := &visit{shop: s, customer: 1000 + s.random.IntN(customers), product: products[s.random.IntN(len(products))]}
	for i := range v.trace {
		v.trace[i] = byte(s.random.UintN(256))
	}
	at = at.Add(time.Duration(s.random.Int64N(int64(time.Second))))
	switch n := s.random.IntN(100); {
	case n < 60:
		v.browse(at)
	case n < 85:
		v.fillCart(at)
	default:
		v.buy(at)
	}
}

func (v *visit) browse(at time.Time) {
	root := v.begin("web", "GET /products/{id}", pcommon.SpanID{}, at)
	stock := v.begin("inventory", "GetStock", root.id, at.Add(v.millis(1, 3)))
	stock.end(v.millis(2, 15), nil)
	took := stock.took + v.millis(6, 30)
	if v.random.IntN(50) == 0 {
		root.log("warn", "page rendered without recommendations", fields{"product": v.product})
	}
	root.end(took, nil)
	root.log("info", "product page served", fields{"product": v.product, "took_ms": ms(took)})
}

func (v *visit) fillCart(at time.Time) {
	root := v.begin("web", "POST /cart", pcommon.SpanID{}, at)
	cart := v.begin("cart", "AddItem", root.id, at.Add(v.millis(1, 4)))
	stock := v.begin("inventory", "Reserve", cart.id, at.Add(v.millis(5, 8)))
	quantity := 1 + v.random.IntN(4)
	var failed error
	if v.random.IntN(25) == 0 {
		failed = fmt.Errorf("%s is sold out", v.product)
		stock.log("warn", "cannot reserve: sold out", fields{"product": v.product, "quantity": quantity})
	}
	stock.end(v.millis(4, 25), failed)
	cart.end(stock.took+v.millis(8, 14), failed)
	if failed == nil {
		cart.log("info", fmt.Sprintf("added %d × %s", quantity, v.product), fields{"product": v.product, "quantity": quantity})
	}
	root.end(cart.took+v.millis(6, 20), failed)
	root.log("info", "cart updated", fields{"took_ms": ms(root.took)})
}

func (v *visit) buy(at time.Time) {
	v.orders++
	order := fields{"order_id": fmt.Sprintf("o-%06d", v.orders), "amount": float64(500+v.random.IntN(20_000)) / 100}
	root := v.begin("web", "POST /checkout", pcommon.SpanID{}, at)
	checkout := v.begin("checkout", "PlaceOrder", root.id, at.Add(v.millis(2, 5)))
	checkout.log("info", "order received", order)
	payment := v.begin("payments", "Charge", checkout.id, at.Add(v.millis(6, 12)))
	failed := v.pay(payment, order)
	took := payment.took + v.millis(15, 40)
	if failed == nil {
		next := payment.start.Add(payment.took)
		stock := v.begin("inventory", "Commit", checkout.id, next)
		stock.end(v.millis(5, 30), nil)
		parcel := v.begin("shipping", "Schedule", checkout.id, next.Add(stock.took))
		parcel.log("info", "parcel scheduled", order.with("days", 1+v.random.IntN(4)))
		parcel.end(v.millis(10, 60), nil)
		took += stock.took + parcel.took
	}
	checkout.end(took, failed)
	if failed == nil {
		checkout.log("info", "order placed", order)
	} else {
		checkout.log("error", "order not placed: "+failed.Error(), order)
	}
	root.end(took+v.millis(8, 25), failed)
	root.log("info", "checkout answered", order.with("took_ms", ms(root.took)))
}

// pay charges the customer. While the provider is slow, every third payment times out.
func (v *visit) pay(span *shopSpan, order fields) error {
	slow := !span.start.Before(v.badFrom) && span.start.Before(v.badTo)
	level, message, took := "info", "payment taken", v.millis(60, 220)
	var failed error
	switch {
	case slow && v.random.IntN(3) == 0:
		level, message, took = "error", "payment provider timed out after 3 attempts", v.millis(4800, 5000)
		failed = errors.New("payment provider timed out")
	case slow:
		level, message, took = "warn", "payment provider is slow", v.millis(900, 3500)
	case v.random.IntN(30) == 0:
		level, message = "error", "card declined"
		failed = errors.New(message)
	}
	span.end(took, failed)
	span.log(level, message, order.with("took_ms", ms(took)))
	return failed
}

// millis returns a random time of from to to milliseconds.
func (v *visit) millis(from, to int) time.Duration {
	return time.Duration(from)*time.Millisecond + time.Duration(v.random.Int64N(int64(to-from+1)*int64(time.Millisecond)))
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// shopSpan is what one service does in a visit.
type shopSpan struct {
	*visit
	span    ptrace.Span
	service string
	id      pcommon.SpanID
	start   time.Time
	took    time.Duration // once ended
}

func (v *visit) begin(service, name string, parent pcommon.SpanID, at time.Time) *shopSpan {
	slice, ok := v.spans[service]
	if !ok {
		rs := v.data.traces.ResourceSpans().AppendEmpty()
		fillResource(rs.Resource(), service)
		slice = rs.ScopeSpans().AppendEmpty().Spans()
		v.spans[service] = slice
	}
	s := &shopSpan{visit: v, span: slice.AppendEmpty(), service: service, start: at}
	for i := range s.id {
		s.id[i] = byte(v.random.UintN(256))
	}
	s.span.SetTraceID(v.trace)
	s.span.SetSpanID(s.id)
	s.span.SetParentSpanID(parent)
	s.span.SetName(name)
	s.span.SetKind(ptrace.SpanKindServer)
	s.span.SetStartTimestamp(pcommon.NewTimestampFromTime(at))
	s.span.Attributes().PutInt("customer.id", int64(v.customer))
	return s
}

func fillResource(r pcommon.Resource, service string) {
	r.Attributes().PutStr("service.name", service)
	r.Attributes().PutStr("service.version", "1.4.2")
	r.Attributes().PutStr("deployment.environment", "demo")
}

func (s *shopSpan) end(took time.Duration, failed error) {
	s.took = took
	s.span.SetEndTimestamp(pcommon.NewTimestampFromTime(s.start.Add(took)))
	t := s.tally[s.service]
	t.requests++
	t.seconds += took.Seconds()
	if failed != nil {
		t.failures++
		s.span.Status().SetCode(ptrace.StatusCodeError)
		s.span.Status().SetMessage(failed.Error())
	}
}

// fields are those of a log line that not every line has.
type fields map[string]any

func (f fields) with(name string, value any) fields {
	out := fields{name: value}
	maps.Copy(out, f)
	return out
}

// log writes a line: of the end of a span that has ended, else of its beginning.
func (s *shopSpan) log(level, message string, more fields) {
	at := s.start.Add(s.took + s.millis(0, 1))
	line := more.with("_timestamp", at.Format(time.RFC3339Nano))
	line["level"], line["service"], line["message"] = level, s.service, message
	line["trace_id"], line["span_id"] = s.trace.String(), s.id.String()
	line["customer"] = map[string]int{"id": s.customer}
	text, err := json.Marshal(line)
	if err != nil {
		panic(err) // plain values only
	}
	s.data.logs.Write(append(text, '\n'))
	s.data.lines++
}
