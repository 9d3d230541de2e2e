package ingress

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/quota"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/esbulk"
	"github.com/millstream/millstream/internal/wire/jsonl"
	"github.com/millstream/millstream/internal/wire/otlp"
	"github.com/millstream/millstream/internal/wire/promwrite"
)

// Limits bound one request (decisions E).
type Limits struct {
	// MaxBodyBytes bounds bodies that must be whole, inflated. Default 64 MiB.
	MaxBodyBytes int64
	// InFlightBytes bounds the memory of all bodies that are being read and decoded, of which each org gets a share. Default 128 MiB; at
	// least enough for one body.
	InFlightBytes int64
	// For returns the limits of an org; it is asked at each request. Nil: limits.Default.
	For func(tenant.ID) limits.Limits
	// Bytes are the byte rates of orgs; nil: those that For tells, counted by this Front alone.
	Bytes *quota.Bytes
	// Rows are the row limits of databases; nil: none has one.
	Rows *quota.Rows
	// Options returns the options of a database from memory; nil: none has any.
	Options func(org tenant.ID, database string) map[string]string
}

// DefaultInFlightBytes is the default of Limits.InFlightBytes.
const DefaultInFlightBytes = 128 << 20

// Front takes client writes.
type Front struct {
	writer   Writer
	limits   Limits
	clock    clock.Clock
	rate     *quota.Bytes
	inFlight *quota.Shares
	discards *discards
	bodies   pieces
	known    *promwrite.Known
}

// NewFront returns a Front that writes to w. A nil registerer leaves the metrics unregistered.
func NewFront(w Writer, l Limits, c clock.Clock, reg prometheus.Registerer) *Front {
	if l.MaxBodyBytes <= 0 {
		l.MaxBodyBytes = wire.DefaultMaxBodyBytes
	}
	if l.InFlightBytes <= 0 {
		l.InFlightBytes = DefaultInFlightBytes
	}
	if l.For == nil {
		l.For = limits.Static(limits.Default())
	}
	if l.Bytes == nil {
		l.Bytes = quota.NewBytes(c, RateOf(l.For))
	}
	return &Front{
		writer: w, limits: l, clock: c, discards: newDiscards(reg), rate: l.Bytes, inFlight: quota.NewShares(l.InFlightBytes, c),
		known: promwrite.NewKnown(promwrite.DefaultKnownBytes),
	}
}

// RateOf returns the byte rates among limits, as quota.NewBytes asks for them.
func RateOf(of func(tenant.ID) limits.Limits) func(tenant.ID) quota.Rate {
	return func(org tenant.ID) quota.Rate {
		l := of(org)
		return quota.Rate{PerSecond: l.IngestionRate, Burst: l.IngestionBurst}
	}
}

// Target is the stream that a request writes to. An empty Database is signal.DefaultDatabase.
type Target struct {
	Org      tenant.ID
	Database string
	Signal   signal.Signal
	Stream   string
	// Backfill says that samples of remote write were recorded elsewhere: they may be of any age.
	Backfill bool
}

// Check checks the names and returns the stream.
func (t Target) Check() (signal.Stream, error) {
	s := signal.Stream{Org: t.Org, Database: t.Database, Signal: t.Signal, Name: t.Stream}
	if s.Database == "" {
		s.Database = signal.DefaultDatabase
	}
	if err := signal.CheckName("database", s.Database); err != nil {
		return s, err
	}
	return s, signal.CheckName("stream", s.Name)
}

// MaxBodyBytes returns the limit of bodies that must be whole.
func (f *Front) MaxBodyBytes() int64 { return f.limits.MaxBodyBytes }

// options are the bounds that a decoder keeps to, of one org.
func (f *Front) options(org tenant.ID) wire.Options {
	l := f.limits.For(org)
	return wire.Options{
		ReceivedAt: f.clock.Now(), MaxBodyBytes: f.limits.MaxBodyBytes,
		MaxLineBytes: int(l.MaxLineSize), MaxColumns: l.MaxColumns, MaxFutureSkew: l.CreationGracePeriod, MaxAge: l.MaxAge(),
		MaxLabels: l.MaxLabelNames, MaxLabelName: l.MaxLabelNameLength, MaxLabelValue: l.MaxLabelValueLength,
	}
}

// readAll returns the inflated body, at most Limits.MaxBodyBytes, whose memory is held.
func (f *Front) readAll(h *held, body io.Reader, encoding string) ([]byte, error) {
	r, err := Inflate(h.packed(body, encoding), encoding, f.limits.MaxBodyBytes, f.limits.MaxBodyBytes)
	if err != nil {
		return nil, err
	}
	data, err := f.bodies.readAll(r, h)
	return data, errors.Join(err, r.Close())
}

// JSON writes JSON lines or a JSON array. JSON lines are written while they are read; an error then says how many rows from the
// start are stored or refused, and the result counts what was stored. An array passes limits as a whole.
func (f *Front) JSON(ctx context.Context, t Target, body io.Reader, encoding string) (wire.Result, error) {
	stream, err := t.Check()
	if err != nil {
		return wire.Result{}, err
	}
	r, err := Inflate(body, encoding, 0, f.limits.MaxBodyBytes)
	if err != nil {
		return wire.Result{}, err
	}
	defer r.Close()
	h := f.hold(t.Org)
	defer h.release()
	plain, whole, err := f.rated(ctx, stream, h, r)
	if err != nil {
		return wire.Result{}, err
	}
	return f.run(ctx, stream, whole, func(emit wire.Emit) (wire.Result, error) {
		return jsonl.Decode(plain, stream, f.options(t.Org), emit)
	})
}

// Export reads and writes an export request of one signal, as OTLP does with one that has been read.
func (f *Front) Export(ctx context.Context, t Target, body io.Reader, encoding string, enc otlp.Encoding) (wire.Result, error) {
	h := f.hold(t.Org)
	defer h.release()
	data, err := f.readAll(h, body, encoding)
	if err != nil {
		return wire.Result{}, err
	}
	return f.export(ctx, t, data, enc)
}

// OTLP writes an export request of one signal. The target's Stream may be empty: logs and traces then go to their default stream.
func (f *Front) OTLP(ctx context.Context, t Target, body []byte, enc otlp.Encoding) (wire.Result, error) {
	h := f.hold(t.Org)
	defer h.release()
	if err := h.take(int64(len(body))); err != nil {
		return wire.Result{}, err
	}
	return f.export(ctx, t, body, enc)
}

func (f *Front) export(ctx context.Context, t Target, body []byte, enc otlp.Encoding) (wire.Result, error) {
	decode := otlp.DecodeMetrics
	switch t.Signal {
	case signal.Logs:
		decode = otlp.DecodeLogs
		t.Stream = orDefault(t.Stream, signal.DefaultOTLPLogs)
	case signal.Traces:
		decode = otlp.DecodeTraces
		t.Stream = orDefault(t.Stream, signal.DefaultOTLPTraces)
	case signal.Metrics:
		t.Stream = "metrics" // a metric's own name decides; this one only passes the check
	}
	stream, err := t.Check()
	if err != nil {
		return wire.Result{}, err
	}
	if t.Signal == signal.Metrics {
		stream.Name = ""
	}
	if err := f.admit(t.Org, len(body)); err != nil {
		return wire.Result{}, err
	}
	return f.run(ctx, stream, true, func(emit wire.Emit) (wire.Result, error) { return decode(body, enc, f.options(t.Org), stream, emit) })
}

func orDefault(name, fallback string) string {
	if name == "" {
		return fallback
	}
	return name
}

// run decodes with a pipeline and corrects the result by what was really written. The rows of a whole body pass their database's limit
// together.
func (f *Front) run(ctx context.Context, to signal.Stream, whole bool, decode func(wire.Emit) (wire.Result, error)) (
	wire.Result, error,
) {
	org := to.Org
	p := &pipeline{
		ctx: ctx, writer: f.writer, admission: f.admissionOf(ctx, databaseOf(to), whole),
		admit: func(rows int) error { return f.admitRows(ctx, databaseOf(to), rows) },
	}
	result, err := decode(p.emit)
	err = p.finish(err)
	result.Refuse(wire.DuplicateSample, p.refused.Duplicate, p.refused.FirstDuplicate)
	result.Refuse(wire.OutOfOrder, p.refused.TooOld, p.refused.FirstTooOld)
	result.Refuse(wire.StreamLimit, p.refused.NewStream, p.refused.FirstNewStream)
	f.discards.countRows(org, result)
	f.discards.countFault(org, err, p.lost)
	if err == nil {
		return result, nil
	}
	result.Accepted, result.Settled = p.stored, p.settled
	if p.stored == 0 {
		return result, err
	}
	return result, &PartialError{Stored: p.stored, Settled: p.settled, Err: err}
}

// PartialError is a request that ended early with some of its rows stored. It has its cause's kind, and its message tells what is
// stored.
type PartialError struct {
	Stored  int // rows stored
	Settled int // leading rows of the request that are stored or refused
	Err     error
}

// Error implements error.
func (e *PartialError) Error() string {
	return fmt.Sprintf("%d rows are stored (the first %d of the request are settled): %v", e.Stored, e.Settled, e.Err)
}

// Unwrap presents the cause under a message that tells what is stored.
func (e *PartialError) Unwrap() error {
	f := fault.Wrap(fault.KindOf(e.Err), e.Err, "%d rows are stored, the first %d of the request are settled; then: %s",
		e.Stored, e.Settled, fault.Message(e.Err))
	f.RetryAfter = fault.RetryAfter(e.Err)
	return f
}

// Bulk writes an Elasticsearch bulk request. The target's Stream is the index of actions that name none; it may be empty. Every
// item tells its own fate.
func (f *Front) Bulk(ctx context.Context, t Target, body io.Reader, encoding string) (esbulk.Response, error) {
	t.Signal = signal.Logs
	check := t
	check.Stream = orDefault(t.Stream, "index")
	stream, err := check.Check()
	if err != nil {
		return esbulk.Response{}, err
	}
	r, err := Inflate(body, encoding, f.limits.MaxBodyBytes, f.limits.MaxBodyBytes)
	if err != nil {
		return esbulk.Response{}, err
	}
	defer r.Close()
	h := f.hold(t.Org)
	defer h.release()
	body, err = f.whole(t.Org, h, r)
	if err != nil {
		return esbulk.Response{}, err
	}
	req := esbulk.Request{Org: t.Org, Database: stream.Database, Index: t.Stream, NewID: func() string { return ulid.Make().String() }}
	if f.limits.Rows.Limited(ctx, databaseOf(stream)) {
		req.Admit = func(rows int) error { return f.admitRows(ctx, databaseOf(stream), rows) }
	}
	response, err := esbulk.Decode(body, req, f.options(t.Org), func(b *signal.Batch) error {
		defer b.Release()
		err := f.writer.Write(ctx, b)
		f.discards.countFault(t.Org, err, b.Rows())
		return err
	})
	f.discards.countRows(t.Org, response.Result)
	return response, err
}
