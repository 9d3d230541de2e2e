package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/jsonrow"
)

// Decode reads rows of one stream from r and hands them to emit in chunks (wire.Chunk). For metrics the stream's name is the
// metric's, and batches carry none.
//
// Rows that cannot be stored are listed in the result and do no harm to others. An error means that the body was not read to its
// end: rows from Result.Settled on are not stored. It is emit's own error, the reader's (of kind Invalid if it had none), TooLarge
// for an array above Options.MaxBodyBytes or Invalid for a broken array. When the reader stops with fault.Limited, because what follows
// is above a rate, the rows before are emitted first.
func Decode(r io.Reader, stream signal.Stream, opts wire.Options, emit wire.Emit) (wire.Result, error) {
	d := newDecoder(r, stream, opts, emit)
	err := d.run()
	return d.result, err
}

type decoder struct {
	body   *wire.Body
	opts   wire.Options
	result wire.Result
	chunk  *wire.Chunk
	row    *jsonrow.Decoder
	rows   int // seen so far, refused ones included
}

func newDecoder(r io.Reader, stream signal.Stream, opts wire.Options, emit wire.Emit) *decoder {
	opts = opts.WithDefaults()
	d := &decoder{body: wire.NewBody(r, opts.MaxLineBytes), opts: opts}
	target := stream
	if stream.Signal == signal.Metrics {
		target.Name = ""
	}
	d.chunk = wire.NewChunk(target, emit, &d.result)
	d.row = jsonrow.NewDecoder(d.chunk.Builder, stream, opts)
	return d
}

func (d *decoder) run() error {
	first, err := d.body.Begin()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	case first == '[':
		d.body.LimitTotal(d.opts.MaxBodyBytes)
		return d.elements(d.body.Array())
	default:
		return d.jsonLines()
	}
}

func (d *decoder) jsonLines() error {
	for {
		line, err := d.body.NextLine()
		if err != nil {
			return d.ended(err)
		}
		if d.rows == 0 && string(bytes.TrimSpace(line.Text)) == "{" {
			d.body.Unread() // the first object is spread over lines, as people write it
			d.body.LimitTotal(d.opts.MaxBodyBytes)
			return d.elements(d.body.Values())
		}
		if err := d.line(line); err != nil {
			return err
		}
	}
}

func (d *decoder) line(line wire.Line) error {
	if line.TooLong {
		d.result.RejectLong(d.rows, fmt.Sprintf("line %d", line.Number), line.Size, d.opts.MaxLineBytes)
		d.rows++
		return nil
	}
	if blank(line.Text) {
		return nil
	}
	rejected, err := d.append(line.Text)
	if rejected != nil {
		d.result.Reject(d.rows, wire.At(rejected, "line %d", line.Number))
	}
	d.rows++
	return err
}

// append adds a row. rejected says why the row was refused, err is emit's.
func (d *decoder) append(text []byte) (rejected, err error) {
	if err := d.chunk.Room(len(text), d.rows); err != nil {
		return nil, err
	}
	return d.row.Decode(text), nil
}

// elements takes the rows of an array, or objects spread over lines.
func (d *decoder) elements(e *wire.Elements) error {
	for {
		element, err := e.Next()
		if errors.Is(err, io.EOF) {
			return d.ended(err)
		}
		if err != nil {
			return d.stopped(err)
		}
		if element.TooLong {
			d.result.RejectLong(d.rows, fmt.Sprintf("element %d", d.rows), element.Size, d.opts.MaxLineBytes)
		} else {
			rejected, err := d.append(element.Text)
			if err != nil {
				return err
			}
			if rejected != nil {
				d.result.Reject(d.rows, wire.At(rejected, "element %d", d.rows))
			}
		}
		d.rows++
		if err := e.Finish(); err != nil {
			return d.stopped(err)
		}
	}
}

// ended emits the last rows where the body ends, or stops for a rate, and returns what remains of the error.
func (d *decoder) ended(err error) error {
	whole := errors.Is(err, io.EOF)
	if whole || fault.Is(err, fault.Limited) {
		if flushErr := d.chunk.Flush(d.rows); whole || flushErr != nil {
			return flushErr
		}
	}
	return err
}

// stopped adds to an error of the body how much of it is stored.
func (d *decoder) stopped(err error) error {
	if fault.Is(err, fault.Limited) {
		return d.ended(err)
	}
	if d.result.Accepted == 0 {
		return err
	}
	return fault.Wrap(fault.KindOf(err), err, "%s; the rows before index %d are settled, %d of them stored",
		fault.Message(err), d.result.Settled, d.result.Accepted)
}

func blank(text []byte) bool {
	for _, c := range text {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}
