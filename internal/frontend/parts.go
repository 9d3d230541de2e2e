package frontend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/fairqueue"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/merge"
)

// maxHeld is the most bytes that a query holds of its parts, and of what was made of them. A record for each part that runs may come
// above it.
const maxHeld = 64 << 20

// parts returns the parts from whose time a question is answered, nil when it is to be answered as a whole: its org's queries are not
// split, or it cannot be.
func (f *Frontend) parts(ctx context.Context, ask fairqueue.Ask, q answer.Question) *partsRun {
	l := f.deps.Limits(q.Org)
	if f.deps.Splitter == nil || l.SplitQueriesByInterval <= 0 || len(q.Members()) > 1 {
		return nil
	}
	outcome := f.metrics.split.MustCurryWith(map[string]string{"language": "sql"})
	split, err := f.deps.Splitter.Split(ctx, q)
	if err != nil {
		f.deps.Logger.Debug("a question is not split", "error", err)
		return nil
	}
	if split == nil || split.Start.IsZero() {
		outcome.WithLabelValues("whole").Inc()
		return nil
	}
	end := split.End
	if end.IsZero() {
		end = split.Now
	}
	if l.MaxQueryLength > 0 && end.Sub(split.Start) > l.MaxQueryLength {
		return nil // to be refused
	}
	spans := cut(span{q.Start, q.End}, split.Start, end, l.SplitQueriesByInterval)
	if len(spans) < 2 {
		outcome.WithLabelValues("whole").Inc()
		return nil
	}
	if split.Rows != nil && split.Rows.Descending {
		slices.Reverse(spans)
	}
	ask.Continues = true
	return &partsRun{
		frontend: f, continues: ask, question: q, split: split, spans: spans, most: max(l.MaxQueryParallelism, 1), began: time.Now(),
		outcome: outcome,
	}
}

// partsRun is one question that is answered in parts.
type partsRun struct {
	frontend  *Frontend
	continues fairqueue.Ask // of all parts but the first
	question  answer.Question
	split     *answer.Split
	spans     []span // two or more
	most      int    // parts at once
	began     time.Time
	outcome   *prometheus.CounterVec

	held atomic.Int64 // bytes of parts that have come
	meta answer.Meta
}

// ask answers the question. The slot is the first part's, which releases it. done is false when the parts do not fit together, or not
// into the memory that they may take.
func (p *partsRun) ask(ctx context.Context, first *fairqueue.Slot) (result answer.Result, done bool, err error) {
	result, err = p.answer(ctx, first)
	if errors.Is(err, merge.ErrUnsupported) {
		p.outcome.WithLabelValues("unfit").Inc()
		return nil, false, nil
	}
	p.outcome.WithLabelValues("parts").Inc()
	return result, true, err
}

// part is the answer to a part.
type part struct {
	schema  *arrow.Schema
	records []arrow.RecordBatch
	rows    int64
	bytes   int64         // of the records, counted in held
	held    *atomic.Int64 // of all parts
	meta    answer.Meta
	err     error
}

// take appends a record, which is the part's then, and reports whether there may be more.
func (p *part) take(r arrow.RecordBatch) bool {
	size := recordBytes(r)
	p.records = append(p.records, r)
	p.rows += r.NumRows()
	p.bytes += size
	return p.held.Add(size) <= maxHeld
}

// recordBytes returns the memory of a record, of which a slice has as much as the whole.
func recordBytes(r arrow.RecordBatch) (n int64) {
	for _, c := range r.Columns() {
		n += arrayBytes(c.Data())
	}
	return n
}

func arrayBytes(a arrow.ArrayData) (n int64) {
	for _, b := range a.Buffers() {
		if b != nil {
			n += int64(b.Len())
		}
	}
	for _, child := range a.Children() {
		n += arrayBytes(child)
	}
	if d, ok := a.Dictionary().(*array.Data); ok && d != nil {
		n += arrayBytes(d)
	}
	return n
}

func (p *part) release() {
	for _, r := range p.records {
		r.Release()
	}
	p.records = nil
	p.held.Add(-p.bytes)
	p.bytes = 0
}

// collector takes parts in order.
type collector interface {
	// add takes the records of a part, and says whether further parts change nothing.
	add(p *part) (enough bool, err error)
	// finish returns the answer.
	finish() (*arrow.Schema, []arrow.RecordBatch, error)
	release()
}

// answer runs the parts, several at once, and puts them together in their order. A part that the engine refuses, perhaps for a column that
// only other parts have, makes the whole be asked.
func (p *partsRun) answer(ctx context.Context, slot *fairqueue.Slot) (answer.Result, error) {
	var c collector = &groupParts{spec: p.split.Groups}
	atFirst := p.most
	if p.split.Rows != nil {
		c = &rowParts{skip: p.split.Rows.Offset, limit: p.split.Rows.Limit}
		atFirst = 1 // the first part often has them all
	}
	err := p.collect(ctx, slot, c, atFirst)
	if err != nil {
		c.release()
		if fault.Is(err, fault.Invalid) || fault.Is(err, fault.NotFound) {
			err = fmt.Errorf("%w: %w", merge.ErrUnsupported, err)
		}
		return nil, err
	}
	schema, records, err := c.finish()
	if err != nil {
		c.release()
		return nil, err
	}
	p.meta.Stats.Rows = 0
	for _, r := range records {
		p.meta.Stats.Rows += r.NumRows()
	}
	p.meta.Stats.TookMS = float64(time.Since(p.began).Microseconds()) / 1000
	return &collected{schema: schema, records: records, meta: p.meta}, nil
}

// collect runs parts, the first one in the slot, and hands them to c in order. Twice as many run at once each time that the first one of
// them was not enough.
func (p *partsRun) collect(ctx context.Context, slot *fairqueue.Slot, c collector, atOnce int) error {
	ctx, cancel := context.WithCancel(ctx)
	var running []chan *part
	defer func() {
		cancel()
		for _, r := range running {
			(<-r).release()
		}
	}()
	next := 0
	for next < len(p.spans) || len(running) > 0 {
		for next < len(p.spans) && len(running) < atOnce {
			done := make(chan *part, 1)
			go func(s span, slot *fairqueue.Slot) { done <- p.run(ctx, slot, s) }(p.spans[next], slot)
			slot = nil
			running = append(running, done)
			next++
		}
		first := <-running[0]
		running = running[1:]
		p.note(first)
		if first.err != nil {
			cancel() // before others get the memory that it gives back
			first.release()
			return first.err
		}
		enough, err := c.add(first)
		if enough || err != nil {
			return err
		}
		atOnce = min(2*atOnce, p.most)
	}
	return nil
}

// run answers one part, in the slot or, without one, in its turn among other queries of the same actor. One that is too large to be held
// ends with merge.ErrUnsupported.
func (p *partsRun) run(ctx context.Context, slot *fairqueue.Slot, s span) (out *part) {
	out = &part{held: &p.held}
	defer func() {
		if v := recover(); v != nil {
			out.err = fault.New(fault.Internal, "panic in a part of a query: %v", v)
		}
	}()
	p.frontend.metrics.parts.Inc()
	q := p.question
	q.Statement, q.Now, q.Limit, q.Start, q.End = p.split.Statement, p.split.Now, 0, s.start, s.end
	if p.split.Rows != nil && p.split.Rows.Offset == 0 { // else the statement has the limit in it
		q.Limit = p.question.Limit
	}
	result, err := p.begin(ctx, slot, q)
	if err != nil {
		out.err = err
		return out
	}
	defer func() {
		out.meta = result.Meta()
		_ = result.Close() // its errors were those of Next
	}()
	out.schema = result.Schema()
	for {
		record, err := result.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			out.err = err
			return out
		}
		if !out.take(record) || p.split.Groups != nil && out.rows > merge.MaxGroups {
			out.err = merge.ErrUnsupported
			return out
		}
	}
}

// begin asks for a part.
func (p *partsRun) begin(ctx context.Context, slot *fairqueue.Slot, q answer.Question) (answer.Result, error) {
	if slot == nil {
		return p.frontend.run(ctx, p.continues, q)
	}
	return p.frontend.runIn(ctx, slot, q)
}

// note adds what a part has cost, and its warnings.
func (p *partsRun) note(x *part) {
	if p.meta.Stats.QueueMS == 0 {
		p.meta.Stats.QueueMS = x.meta.Stats.QueueMS
	}
	p.meta.Add(x.meta)
}

// groupParts joins groups.
type groupParts struct {
	spec   *answer.SplitGroups
	groups *merge.Groups
}

func (g *groupParts) add(p *part) (enough bool, err error) {
	defer p.release()
	if g.groups == nil {
		if g.groups, err = merge.NewGroups(g.spec, p.schema); err != nil {
			return false, err
		}
	}
	if !g.groups.Fits(p.schema) {
		return false, merge.ErrUnsupported
	}
	before := g.groups.Bytes()
	for _, r := range p.records {
		if err := g.groups.Add(r); err != nil {
			return false, err
		}
	}
	if p.held.Add(g.groups.Bytes()-before) > maxHeld+p.bytes {
		return false, merge.ErrUnsupported
	}
	return false, nil
}

func (g *groupParts) finish() (*arrow.Schema, []arrow.RecordBatch, error) {
	r, err := g.groups.Finish()
	if err != nil {
		return nil, nil, err
	}
	return r.Schema(), []arrow.RecordBatch{r}, nil
}

func (*groupParts) release() {}

// rowParts takes the first rows of parts that are in order, after some that are left out.
type rowParts struct {
	skip    int64 // rows still to be left out
	limit   int64
	rows    int64
	schema  *arrow.Schema
	records []arrow.RecordBatch
}

func (c *rowParts) add(p *part) (enough bool, err error) {
	defer p.release()
	if c.schema == nil {
		c.schema = p.schema
	}
	if !c.schema.Equal(p.schema) {
		return false, merge.ErrUnsupported
	}
	for _, r := range p.records {
		skip := min(r.NumRows(), c.skip)
		c.skip -= skip
		n := min(r.NumRows()-skip, c.limit-c.rows)
		if n > 0 {
			c.records = append(c.records, r.NewSlice(skip, skip+n))
			c.rows += n
			p.bytes -= recordBytes(r) // stays held
		}
	}
	return c.rows >= c.limit, nil
}

func (c *rowParts) finish() (*arrow.Schema, []arrow.RecordBatch, error) {
	return c.schema, c.records, nil
}

func (c *rowParts) release() {
	for _, r := range c.records {
		r.Release()
	}
	c.records = nil
}

// collected is an answer in memory.
type collected struct {
	schema  *arrow.Schema
	records []arrow.RecordBatch
	meta    answer.Meta
}

// Schema implements answer.Source.
func (c *collected) Schema() *arrow.Schema { return c.schema }

// Next implements answer.Source.
func (c *collected) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(c.records) == 0 {
		return nil, io.EOF
	}
	r := c.records[0]
	c.records = c.records[1:]
	return r, nil
}

// Meta implements answer.Result.
func (c *collected) Meta() answer.Meta { return c.meta }

// Close implements answer.Result.
func (c *collected) Close() error {
	for _, r := range c.records {
		r.Release()
	}
	c.records = nil
	return nil
}
