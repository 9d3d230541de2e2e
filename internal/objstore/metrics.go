package objstore

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The operations, as values of the label op.
const (
	opGet      = "get"
	opGetRange = "get_range"
	opStat     = "stat"
	opPut      = "put"
	opDelete   = "delete"
	opList     = "list"
)

type metrics struct {
	operations *prometheus.CounterVec   // op
	failures   *prometheus.CounterVec   // op
	seconds    *prometheus.HistogramVec // op
	bytes      *prometheus.CounterVec   // direction
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		operations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millstream_objstore_operations_total",
			Help: "Operations on the object store, each try of a repeated one counted.",
		}, []string{"op"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millstream_objstore_failures_total",
			Help: "Operations that failed. Missing objects and callers that left are not failures.",
		}, []string{"op"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "millstream_objstore_seconds",
			Help:    "Time until an operation answered; of reads, until the first byte could be read.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 12), // 1 ms to 24 s
		}, []string{"op"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millstream_objstore_bytes_total",
			Help: "Bytes read from and written to the object store through its client. Files read in place are not counted.",
		}, []string{"direction"}),
	}
	for _, op := range []string{opGet, opGetRange, opStat, opPut, opDelete, opList} {
		m.operations.WithLabelValues(op)
		m.failures.WithLabelValues(op)
		m.seconds.WithLabelValues(op)
	}
	m.bytes.WithLabelValues("read")
	m.bytes.WithLabelValues("written")
	if reg != nil {
		reg.MustRegister(m.operations, m.failures, m.seconds, m.bytes)
	}
	return m
}

// Instrument returns a store that counts what is done on s, in metrics millstream_objstore_* registered at reg (nil: nowhere).
// Put it below Retry, so that tries are counted.
func Instrument(s Store, reg prometheus.Registerer) Store {
	return &instrumented{next: s, metrics: newMetrics(reg)}
}

type instrumented struct {
	next    Store
	metrics *metrics
}

func (i *instrumented) done(op string, start time.Time, err error) {
	i.metrics.operations.WithLabelValues(op).Inc()
	i.metrics.seconds.WithLabelValues(op).Observe(time.Since(start).Seconds())
	if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, context.Canceled) {
		i.metrics.failures.WithLabelValues(op).Inc()
	}
}

func (i *instrumented) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	start := time.Now()
	r, err := i.next.Get(ctx, key)
	i.done(opGet, start, err)
	if err != nil {
		return nil, err
	}
	return countedReader{r, i.metrics.bytes.WithLabelValues("read")}, nil
}

func (i *instrumented) GetRange(ctx context.Context, key string, off, length int64) (io.ReadCloser, error) {
	start := time.Now()
	r, err := i.next.GetRange(ctx, key, off, length)
	i.done(opGetRange, start, err)
	if err != nil {
		return nil, err
	}
	return countedReader{r, i.metrics.bytes.WithLabelValues("read")}, nil
}

func (i *instrumented) Stat(ctx context.Context, key string) (Info, error) {
	start := time.Now()
	info, err := i.next.Stat(ctx, key)
	i.done(opStat, start, err)
	return info, err
}

func (i *instrumented) LocalPath(key string) (string, bool) { return i.next.LocalPath(key) }

func (i *instrumented) Put(ctx context.Context, key string, r io.ReaderAt, size int64) error {
	start := time.Now()
	err := i.next.Put(ctx, key, r, size)
	i.done(opPut, start, err)
	if err == nil {
		i.metrics.bytes.WithLabelValues("written").Add(float64(size))
	}
	return err
}

func (i *instrumented) PutFile(ctx context.Context, key, path string) error {
	start := time.Now()
	err := i.next.PutFile(ctx, key, path)
	i.done(opPut, start, err)
	if err == nil {
		i.metrics.bytes.WithLabelValues("written").Add(fileSize(path))
	}
	return err
}

func (i *instrumented) Delete(ctx context.Context, key string) error {
	start := time.Now()
	err := i.next.Delete(ctx, key)
	i.done(opDelete, start, err)
	return err
}

// List counts an error of visit as the caller's, not as the store's.
func (i *instrumented) List(ctx context.Context, prefix string, visit func(Entry) error) error {
	start := time.Now()
	var visitErr error
	err := i.next.List(ctx, prefix, func(e Entry) error {
		visitErr = visit(e)
		return visitErr
	})
	storeErr := err
	if visitErr != nil {
		storeErr = nil
	}
	i.done(opList, start, storeErr)
	return err
}

func (i *instrumented) Close() error { return i.next.Close() }

// countedReader adds what is read to a counter.
type countedReader struct {
	io.ReadCloser
	bytes prometheus.Counter
}

func (c countedReader) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.bytes.Add(float64(n))
	return n, err
}
