package catalog

import (
	"context"
	"io"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

// instrumented measures a catalog.
type instrumented struct {
	io.Closer // the catalog's

	next     Catalog
	requests *prometheus.CounterVec   // by method and outcome
	seconds  *prometheus.HistogramVec // by method and outcome
}

// Instrument returns a catalog that counts the calls of next and their time by method and outcome: ok, or the code of the error's
// kind. It panics when the registerer has the metrics already. Closing it closes next.
func Instrument(next Catalog, reg prometheus.Registerer) Catalog {
	labels := []string{"method", "outcome"}
	m := &instrumented{
		Closer: next,
		next:   next,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millstream_catalog_requests_total",
			Help: "Calls of the catalog that have ended.",
		}, labels),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "millstream_catalog_request_seconds",
			Help:    "Time of the calls of the catalog.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2.5, 12), // 0.5 ms to 12 s
		}, labels),
	}
	reg.MustRegister(m.requests, m.seconds)
	return m
}

// done measures a call that began at start.
func (m *instrumented) done(method string, start time.Time, err error) {
	outcome := "ok"
	if err != nil {
		outcome = fault.KindOf(err).String()
	}
	m.requests.WithLabelValues(method, outcome).Inc()
	m.seconds.WithLabelValues(method, outcome).Observe(time.Since(start).Seconds()) //nolint:forbidigo // measured, nothing is decided by it
}

func observe(m *instrumented, method string, call func() error) error {
	start := time.Now() //nolint:forbidigo // measured, nothing is decided by it
	err := call()
	m.done(method, start, err)
	return err
}

func observeValue[T any](m *instrumented, method string, call func() (T, error)) (T, error) {
	start := time.Now() //nolint:forbidigo // measured, nothing is decided by it
	v, err := call()
	m.done(method, start, err)
	return v, err
}

func (m *instrumented) Ping(ctx context.Context) error {
	return observe(m, "ping", func() error { return m.next.Ping(ctx) })
}

func (m *instrumented) StartWriter(ctx context.Context, node, address string) (Writer, error) {
	return observeValue(m, "start_writer", func() (Writer, error) { return m.next.StartWriter(ctx, node, address) })
}

func (m *instrumented) AdoptWriter(ctx context.Context, node string, epoch int64, address string) error {
	return observe(m, "adopt_writer", func() error { return m.next.AdoptWriter(ctx, node, epoch, address) })
}

func (m *instrumented) EndWriter(ctx context.Context, node string, epoch int64) error {
	return observe(m, "end_writer", func() error { return m.next.EndWriter(ctx, node, epoch) })
}

func (m *instrumented) Writers(ctx context.Context) ([]Writer, error) {
	return observeValue(m, "writers", func() ([]Writer, error) { return m.next.Writers(ctx) })
}

func (m *instrumented) Committed(ctx context.Context, node string, epoch int64) (map[DatasetID]uint64, error) {
	return observeValue(m, "committed", func() (map[DatasetID]uint64, error) { return m.next.Committed(ctx, node, epoch) })
}

func (m *instrumented) CreateDatabase(ctx context.Context, org tenant.ID, name string, options map[string]string) (Database, error) {
	return observeValue(m, "create_database", func() (Database, error) { return m.next.CreateDatabase(ctx, org, name, options) })
}

func (m *instrumented) AlterDatabase(ctx context.Context, org tenant.ID, name string, options map[string]*string) (Database, error) {
	return observeValue(m, "alter_database", func() (Database, error) { return m.next.AlterDatabase(ctx, org, name, options) })
}

func (m *instrumented) DropDatabase(ctx context.Context, org tenant.ID, name string) error {
	return observe(m, "drop_database", func() error { return m.next.DropDatabase(ctx, org, name) })
}

func (m *instrumented) Databases(ctx context.Context, org tenant.ID) ([]Database, error) {
	return observeValue(m, "databases", func() ([]Database, error) { return m.next.Databases(ctx, org) })
}

func (m *instrumented) DatabasesWithOptions(ctx context.Context) ([]Database, error) {
	return observeValue(m, "databases_with_options", func() ([]Database, error) { return m.next.DatabasesWithOptions(ctx) })
}

func (m *instrumented) EnsureStreamsWithin(ctx context.Context, streams []signal.Stream, limit int) ([]Stream, error) {
	return observeValue(m, "ensure_streams", func() ([]Stream, error) { return m.next.EnsureStreamsWithin(ctx, streams, limit) })
}

func (m *instrumented) EnsureStreams(ctx context.Context, streams []signal.Stream) ([]Stream, error) {
	return observeValue(m, "ensure_streams", func() ([]Stream, error) { return m.next.EnsureStreams(ctx, streams) })
}

func (m *instrumented) Streams(ctx context.Context, org tenant.ID) ([]Stream, error) {
	return observeValue(m, "streams", func() ([]Stream, error) { return m.next.Streams(ctx, org) })
}

func (m *instrumented) AlterStream(ctx context.Context, stream signal.Stream, options map[string]*string) (Stream, error) {
	return observeValue(m, "alter_stream", func() (Stream, error) { return m.next.AlterStream(ctx, stream, options) })
}

func (m *instrumented) ReserveColumns(ctx context.Context, stream StreamID, names []string) ([]Column, error) {
	return observeValue(m, "reserve_columns", func() ([]Column, error) { return m.next.ReserveColumns(ctx, stream, names) })
}

func (m *instrumented) Columns(ctx context.Context, stream StreamID) ([]Column, error) {
	return observeValue(m, "columns", func() ([]Column, error) { return m.next.Columns(ctx, stream) })
}

func (m *instrumented) NextSegments(ctx context.Context, n int) (SegmentID, error) {
	return observeValue(m, "next_segments", func() (SegmentID, error) { return m.next.NextSegments(ctx, n) })
}

func (m *instrumented) Commit(ctx context.Context, c Commit) ([]CommitResult, error) {
	return observeValue(m, "commit", func() ([]CommitResult, error) { return m.next.Commit(ctx, c) })
}

func (m *instrumented) Snapshot(ctx context.Context, q SnapshotQuery) (Snapshot, error) {
	return observeValue(m, "snapshot", func() (Snapshot, error) { return m.next.Snapshot(ctx, q) })
}

func (m *instrumented) Replace(ctx context.Context, dataset DatasetID, old []SegmentID, added []Segment) error {
	return observe(m, "replace", func() error { return m.next.Replace(ctx, dataset, old, added) })
}

func (m *instrumented) SetIndex(ctx context.Context, segment SegmentID, old, key string, size int64) error {
	return observe(m, "set_index", func() error { return m.next.SetIndex(ctx, segment, old, key, size) })
}

func (m *instrumented) Expire(ctx context.Context, dataset DatasetID, before time.Time) (int, error) {
	return observeValue(m, "expire", func() (int, error) { return m.next.Expire(ctx, dataset, before) })
}

func (m *instrumented) Datasets(ctx context.Context, org tenant.ID) ([]Dataset, error) {
	return observeValue(m, "datasets", func() ([]Dataset, error) { return m.next.Datasets(ctx, org) })
}

func (m *instrumented) Retired(ctx context.Context, before time.Time, limit int) ([]Segment, error) {
	return observeValue(m, "retired", func() ([]Segment, error) { return m.next.Retired(ctx, before, limit) })
}

func (m *instrumented) Forget(ctx context.Context, ids []SegmentID) error {
	return observe(m, "forget", func() error { return m.next.Forget(ctx, ids) })
}

func (m *instrumented) KnownObjects(ctx context.Context, keys []string) (map[string]bool, error) {
	return observeValue(m, "known_objects", func() (map[string]bool, error) { return m.next.KnownObjects(ctx, keys) })
}

func (m *instrumented) EstablishAccess(ctx context.Context, sealed []byte, first Token) error {
	return observe(m, "establish_access", func() error { return m.next.EstablishAccess(ctx, sealed, first) })
}

func (m *instrumented) Access(ctx context.Context, known int64) (AccessState, error) {
	return observeValue(m, "access", func() (AccessState, error) { return m.next.Access(ctx, known) })
}

func (m *instrumented) ReplaceSecret(ctx context.Context, old, sealed []byte) error {
	return observe(m, "replace_secret", func() error { return m.next.ReplaceSecret(ctx, old, sealed) })
}

func (m *instrumented) CreateToken(ctx context.Context, t Token) error {
	return observe(m, "create_token", func() error { return m.next.CreateToken(ctx, t) })
}

func (m *instrumented) RevokeToken(ctx context.Context, prefix string) error {
	return observe(m, "revoke_token", func() error { return m.next.RevokeToken(ctx, prefix) })
}

func (m *instrumented) TouchTokens(ctx context.Context, used map[string]time.Time) error {
	return observe(m, "touch_tokens", func() error { return m.next.TouchTokens(ctx, used) })
}

func (m *instrumented) RecordChange(ctx context.Context, c Change) error {
	return observe(m, "record_change", func() error { return m.next.RecordChange(ctx, c) })
}

func (m *instrumented) RecordChangeOnce(ctx context.Context, c Change, after int64) (int64, error) {
	return observeValue(m, "record_change_once", func() (int64, error) { return m.next.RecordChangeOnce(ctx, c, after) })
}

func (m *instrumented) LastChange(ctx context.Context, object string) (Change, error) {
	return observeValue(m, "last_change", func() (Change, error) { return m.next.LastChange(ctx, object) })
}

func (m *instrumented) Changes(ctx context.Context, before int64, limit int) ([]Change, error) {
	return observeValue(m, "changes", func() ([]Change, error) { return m.next.Changes(ctx, before, limit) })
}
