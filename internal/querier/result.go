package querier

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// Stats is what a statement cost.
type Stats struct {
	ScannedRows     int64            // of segments and buffers, after pruning
	ScannedBytes    int64            // of the segments' files
	FreshRows       int64            // those of ScannedRows that came from buffers
	Segments        int              // read
	SegmentsPruned  int              // left out
	RowGroups       int              // of the segments read
	RowGroupsPruned int              // of those, left out by the search index
	PrunedBy        map[string]int64 // the same by reason
	Rows            int64            // answered so far
	Took            time.Duration    // from the arrival of the statement, so far or to its end
}

// rows is a running result of the engine or a finished one of ours.
type rows interface {
	Schema() *arrow.Schema
	Next(ctx context.Context) (arrow.RecordBatch, error)
	Close() error
}

// Result is a running statement. It holds a place in the engine until it is closed.
type Result struct {
	run      *run
	rows     rows
	finished bool
	err      error
}

// Schema describes the columns. Fields carry the engine's name of their type under duck.TypeKey.
func (r *Result) Schema() *arrow.Schema { return r.rows.Schema() }

// Next returns the next rows, which the caller releases, or io.EOF after the last. The end of ctx, or of the statement's time, ends
// the work.
func (r *Result) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if r.err != nil {
		return nil, r.err
	}
	ctx, cancel := r.run.limit(ctx)
	defer cancel()
	batch, err := r.rows.Next(ctx)
	if err == nil {
		r.run.stats.Rows += batch.NumRows()
		return batch, nil
	}
	if !errors.Is(err, io.EOF) {
		err = r.run.explain(ctx, err)
	}
	r.err = err
	r.finish()
	return nil, err
}

// Stats returns what the statement cost so far. ScannedRows and what follows from the plan is known from the start.
func (r *Result) Stats() Stats {
	s := r.run.stats
	if !r.finished {
		s.Took = r.run.elapsed()
	}
	return s
}

// Warnings name what may be missing in the answer, in words for the user.
func (r *Result) Warnings() []string { return r.run.warnings }

// Close ends the statement and gives everything back. It is idempotent.
func (r *Result) Close() error {
	err := r.rows.Close()
	if r.err == nil {
		r.err = io.EOF
	}
	r.finish()
	r.run.release()
	return err
}

// finish fixes the time and counts the statement, once.
func (r *Result) finish() {
	if r.finished {
		return
	}
	r.finished = true
	r.run.stats.Took = r.run.elapsed()
	r.run.querier.metrics.observe(r.run.stats, r.err)
}
