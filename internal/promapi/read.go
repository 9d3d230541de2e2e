package promapi

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/tenant"
)

// ReadRequest is a remote read: prometheus.ReadRequest over one database.
type ReadRequest struct {
	Org      tenant.ID
	Actor    string // as in Question
	Database string // never empty
	Streamed bool   // the answer is streamed chunks, else samples
	Body     []byte // the message, not compressed
}

// Reader answers remote reads: an API of this process, or a client of one.
type Reader interface {
	// Read hands the answer to send, part by part in order: for samples messages that together are one prometheus.ReadResponse, for
	// chunks whole frames. An error of send ends the read. The parts are send's to keep.
	Read(ctx context.Context, q ReadRequest, send func(part []byte) error) error
}

// Read implements Reader. An answer cannot carry warnings, so one that would need some is an error: it is never short without a word.
func (a *API) Read(ctx context.Context, q ReadRequest, send func(part []byte) error) error {
	var in prompb.ReadRequest
	if err := in.Unmarshal(q.Body); err != nil {
		return fault.Wrap(fault.Invalid, err, "the body is no remote read request: %s", err)
	}
	ctx, stop := withTimeout(ctx, a.deps.Limits(q.Org))
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, a.opts.Timeout)
	defer cancel()
	release, err := a.deps.Acquire(ctx, q.Org)
	if err != nil {
		return err
	}
	defer release()
	for i, query := range in.Queries {
		if query == nil {
			continue
		}
		r := reading{API: a, request: &q, send: send, index: int64(i)}
		if err := r.query(ctx, query); err != nil {
			var own *apiError
			if ctx.Err() != nil && errors.As(context.Cause(ctx), &own) {
				return own // the org's limit, in its words
			}
			return err
		}
	}
	return nil
}

// reading is one query of a remote read under way.
type reading struct {
	*API
	request *ReadRequest
	send    func([]byte) error
	index   int64 // of the query in its request
}

func (r *reading) query(ctx context.Context, in *prompb.Query) (err error) {
	matchers, err := matchersOf(in.Matchers)
	if err != nil {
		return err
	}
	q, err := r.deps.Metrics.Queryable(r.request.Org, r.request.Database).Querier(in.StartTimestampMs, in.EndTimestampMs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	set := selected(ctx, q, hintsOf(in), matchers)
	if err := whole(set); err != nil {
		return err
	}
	if r.request.Streamed {
		return r.chunks(ctx, set)
	}
	return r.samples(ctx, set)
}

// batchSelector is a storage.Querier that need not hold all samples of an answer at once.
type batchSelector interface {
	// SelectInBatches gives the series sorted by their labels. A series is valid until the set is asked for the next one.
	SelectInBatches(ctx context.Context, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet
}

// selected returns the series, sorted by their labels.
func selected(ctx context.Context, q storage.Querier, hints *storage.SelectHints, matchers []*labels.Matcher) storage.SeriesSet {
	if b, ok := q.(batchSelector); ok {
		return b.SelectInBatches(ctx, hints, matchers...)
	}
	return q.Select(ctx, true, hints, matchers...)
}

// whole refuses a set that lacks rows.
func whole(set storage.SeriesSet) error {
	if err := set.Err(); err != nil {
		return err
	}
	warnings, _ := set.Warnings().AsStrings("", 1, 0)
	if len(warnings) > 0 {
		err := fault.New(fault.Unavailable, "the answer would be incomplete: %s", warnings[0])
		err.RetryAfter = time.Second
		return err
	}
	return nil
}

// hintsOf returns what the sender says of the use of the samples. Hints without a time mean the query's.
func hintsOf(in *prompb.Query) *storage.SelectHints {
	h := in.Hints
	if h == nil {
		return nil
	}
	out := &storage.SelectHints{
		Start: h.StartMs, End: h.EndMs, Step: h.StepMs, Func: h.Func, Grouping: h.Grouping, By: h.By, Range: h.RangeMs,
	}
	if out.Start == 0 && out.End == 0 {
		out.Start, out.End = in.StartTimestampMs, in.EndTimestampMs
	}
	return out
}

func matchersOf(in []*prompb.LabelMatcher) ([]*labels.Matcher, error) {
	types := map[prompb.LabelMatcher_Type]labels.MatchType{
		prompb.LabelMatcher_EQ: labels.MatchEqual, prompb.LabelMatcher_NEQ: labels.MatchNotEqual,
		prompb.LabelMatcher_RE: labels.MatchRegexp, prompb.LabelMatcher_NRE: labels.MatchNotRegexp,
	}
	out := make([]*labels.Matcher, 0, len(in))
	for _, m := range in {
		typ, ok := types[m.Type]
		if !ok {
			return nil, fault.New(fault.Invalid, "the matcher of label %q has the unknown type %d", m.Name, m.Type)
		}
		matcher, err := labels.NewMatcher(typ, m.Name, m.Value)
		if err != nil {
			return nil, fault.Wrap(fault.Invalid, err, "the matcher of label %q: %s", m.Name, err)
		}
		out = append(out, matcher)
	}
	return out, nil
}

// negotiate tells whether the first of the accepted types that is known here is streamed chunks. No type means samples.
func negotiate(accepted []prompb.ReadRequest_ResponseType) (streamed bool, err error) {
	for _, t := range accepted {
		switch t {
		case prompb.ReadRequest_SAMPLES:
			return false, nil
		case prompb.ReadRequest_STREAMED_XOR_CHUNKS:
			return true, nil
		}
	}
	if len(accepted) > 0 {
		return false, fault.New(fault.Invalid, "none of the accepted response types %v is known; known are SAMPLES and STREAMED_XOR_CHUNKS",
			accepted)
	}
	return false, nil
}
