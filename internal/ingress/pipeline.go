package ingress

import (
	"context"
	"errors"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
)

// Writer makes batches durable: internal/ingest in this process, or a router's forwarder.
type Writer interface {
	// Write returns nil when every row of the batches is durable. The caller keeps its references to the records.
	Write(ctx context.Context, batches ...*signal.Batch) error
}

// pipeline writes one batch while the decoder works on the next: at most one is on its way. Where rows are limited they are charged
// before the writer sees them.
type pipeline struct {
	ctx     context.Context //nolint:containedctx // lives as long as one request
	writer  Writer
	pending chan error // of the batch on its way, nil if none
	batch   *signal.Batch
	stored  int // rows written
	settled int // leading rows of the request that are stored or refused
	refused signal.RefusedSamples
	lost    int // rows of the batch whose writing failed

	admission admission
	admit     func(rows int) error // charges rows to the database
	held      []*signal.Batch      // of admitWhole, until all rows are known
}

// emit takes over a batch (wire.Emit). It returns the error of the batch before.
func (p *pipeline) emit(b *signal.Batch) error {
	switch p.admission {
	case admitWhole:
		p.held = append(p.held, b)
		return nil
	case admitChunks:
		if err := p.admit(b.Rows()); err != nil {
			b.Release()
			return err
		}
	case admitNothing:
	}
	return p.write(b)
}

// finish admits and writes the batches that are held, waits for the last one, and returns the first error: decodeErr or that of a write.
// A body that a limit cut off is refused as a whole when it must be whole; of one that is broken the rows before are kept.
func (p *pipeline) finish(decodeErr error) error {
	held := p.held
	p.held = nil
	if fault.Is(decodeErr, fault.Limited) {
		for _, b := range held {
			b.Release()
		}
		held = nil
	}
	err := p.release(held)
	if waitErr := p.wait(); err == nil {
		err = waitErr
	}
	if err != nil && (decodeErr == nil || p.admission == admitWhole) {
		return err
	}
	return decodeErr
}

// release writes batches once their rows are admitted together.
func (p *pipeline) release(held []*signal.Batch) error {
	rows := 0
	for _, b := range held {
		rows += b.Rows()
	}
	if len(held) == 0 {
		return nil
	}
	err := p.admit(rows)
	for _, b := range held {
		if err != nil {
			b.Release()
			continue
		}
		err = p.write(b)
	}
	return err
}

// write gives a batch to the writer, once the batch before is written.
func (p *pipeline) write(b *signal.Batch) error {
	if err := p.wait(); err != nil {
		b.Release()
		return err
	}
	done := make(chan error, 1)
	p.pending, p.batch = done, b
	go func() { done <- p.writer.Write(p.ctx, b) }()
	return nil
}

// wait returns the error of the batch on its way, if there is one. After an error nothing more is written.
func (p *pipeline) wait() error {
	if p.pending == nil {
		return nil
	}
	err := <-p.pending
	p.pending = nil
	if refused, ok := errors.AsType[*signal.RefusedSamples](err); ok { // the rest of the batch is stored
		p.refused.Join(refused)
		p.stored -= refused.Rows()
		err = nil
	}
	if err == nil {
		p.stored += p.batch.Rows()
		p.settled = p.batch.Settled
	} else {
		p.lost = p.batch.Rows()
	}
	p.batch.Release()
	p.batch = nil
	return err
}
