package promtest

import (
	"context"
	"errors"
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/prometheus/prometheus/storage"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wire/promwrite"
)

// Storage is an org of a Store as the storage of Prometheus' test suite. What it lacks of the interface panics when it is called.
type Storage struct {
	storage.Storage
	store *Store
	org   tenant.ID
	flush bool
}

// Storage returns the storage of an org, which flushes after every commit, or never.
func (s *Store) Storage(org tenant.ID, flush bool) *Storage {
	return &Storage{store: s, org: org, flush: flush}
}

// Querier implements storage.Queryable.
func (s *Storage) Querier(mint, maxt int64) (storage.Querier, error) {
	return s.store.Prom.Queryable(s.org, signal.DefaultDatabase).Querier(mint, maxt)
}

// Close implements storage.Storage. The store stays open.
func (s *Storage) Close() error { return nil }

// AppenderV2 implements storage.AppendableV2.
func (s *Storage) AppenderV2(ctx context.Context) storage.AppenderV2 {
	return &appender{ctx: ctx, storage: s, symbols: writev2.NewSymbolTable(), at: make(map[string]int)}
}

// appender makes one remote write request of what is appended. It writes samples itself: Prometheus' own encoder takes -0 for a value
// that need not be sent.
type appender struct {
	ctx     context.Context //nolint:containedctx // lives as long as one transaction
	storage *Storage
	symbols writev2.SymbolsTable
	series  [][]byte
	at      map[string]int // place of a series by its text
}

// Field numbers of io.prometheus.write.v2.Request and what it holds.
const (
	requestSymbols   = 4
	requestSeries    = 5
	seriesLabels     = 1
	seriesSamples    = 2
	seriesHistograms = 3
	sampleValue      = 1
	sampleTime       = 2
	sampleStart      = 3
)

// Append implements storage.AppenderV2.
//
//nolint:revive // the interface is Prometheus'
func (a *appender) Append(_ storage.SeriesRef, ls labels.Labels, st, t int64, v float64, h *histogram.Histogram,
	fh *histogram.FloatHistogram, _ storage.AppendV2Options,
) (storage.SeriesRef, error) {
	i, ok := a.at[ls.String()]
	if !ok {
		i = len(a.series)
		a.at[ls.String()] = i
		var refs []byte
		for _, ref := range a.symbols.SymbolizeLabels(ls, nil) {
			refs = protowire.AppendVarint(refs, uint64(ref))
		}
		a.series = append(a.series, appendMessage(nil, seriesLabels, refs))
	}
	if h == nil && fh == nil {
		var sample []byte
		sample = protowire.AppendFixed64(protowire.AppendTag(sample, sampleValue, protowire.Fixed64Type), math.Float64bits(v))
		sample = protowire.AppendVarint(protowire.AppendTag(sample, sampleTime, protowire.VarintType), uint64(t))
		sample = protowire.AppendVarint(protowire.AppendTag(sample, sampleStart, protowire.VarintType), uint64(st))
		a.series[i] = appendMessage(a.series[i], seriesSamples, sample)
		return storage.SeriesRef(i + 1), nil
	}
	var message writev2.Histogram
	if fh != nil {
		message = writev2.FromFloatHistogram(st, t, fh)
	} else {
		message = writev2.FromIntHistogram(st, t, h)
	}
	body, err := message.Marshal()
	a.series[i] = appendMessage(a.series[i], seriesHistograms, body)
	return storage.SeriesRef(i + 1), err
}

func appendMessage(dst []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, field, protowire.BytesType), message)
}

// Commit implements storage.AppenderTransaction.
func (a *appender) Commit() error {
	var body []byte
	for _, symbol := range a.symbols.Symbols() {
		body = appendMessage(body, requestSymbols, []byte(symbol))
	}
	for _, series := range a.series {
		body = appendMessage(body, requestSeries, series)
	}
	result, err := a.storage.store.WriteAs(a.ctx, a.storage.org, body, promwrite.V2)
	if err != nil {
		return err
	}
	if result.Rejected > 0 {
		return errors.New(result.Summary())
	}
	if a.storage.flush {
		return a.storage.store.Ingest.Flush(a.ctx)
	}
	return nil
}

// Rollback implements storage.AppenderTransaction.
func (a *appender) Rollback() error { return nil }
