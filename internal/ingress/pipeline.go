package ingress

import (
	"context"
	"errors"

	"github.com/millstream/millstream/internal/signal"
)

// Writer makes batches durable: internal/ingest in this process, or a router's forwarder.
type Writer interface {
	// Write returns nil when every row of the batches is durable. The caller keeps its references to the records.
	Write(ctx context.Context, batches ...*signal.Batch) error
}

// pipeline writes one batch while the decoder works on the next: at most one is on its way.
type pipeline struct {
	ctx     context.Context //nolint:containedctx // lives as long as one request
	writer  Writer
	pending chan error // of the batch on its way, nil if none
	batch   *signal.Batch
	stored  int // rows written
	settled int // leading rows of the request that are stored or refused
	refused signal.RefusedSamples
}

// emit takes over a batch (wire.Emit). It returns the error of the batch before.
func (p *pipeline) emit(b *signal.Batch) error {
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
	}
	p.batch.Release()
	p.batch = nil
	return err
}
