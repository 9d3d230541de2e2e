package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLineBytes bounds a line that is held. Longer ones are refused here; what the server takes is its own affair.
const maxLineBytes = 16 << 20

// batch is a run of whole lines, each of which is one row of a request: blank lines are left out.
type batch struct {
	body    []byte
	starts  []int   // of each row in body
	lines   []int64 // number of each row's line in the input, from 1
	ends    []int64 // offset behind each row's line
	refused []refusedLine
	end     int64 // offset behind the batch
	endLine int64 // lines before end
	last    bool  // the input ends with it
}

// refusedLine is a line that is not stored.
type refusedLine struct {
	line   int64
	reason string
}

// rows returns how many rows the batch has.
func (b *batch) rows() int { return len(b.starts) }

// row returns the text of a row, without its end of line.
func (b *batch) row(i int) []byte {
	end := len(b.body)
	if i+1 < len(b.starts) {
		end = b.starts[i+1]
	}
	return bytes.TrimRight(b.body[b.starts[i]:end], "\r\n")
}

// from returns the batch without its first n rows.
func (b *batch) from(n int) *batch {
	if n >= b.rows() {
		return &batch{end: b.end, endLine: b.endLine, last: b.last}
	}
	skipped := b.starts[n]
	rest := &batch{body: b.body[skipped:], lines: b.lines[n:], ends: b.ends[n:], end: b.end, endLine: b.endLine, last: b.last}
	for _, s := range b.starts[n:] {
		rest.starts = append(rest.starts, s-skipped)
	}
	return rest
}

// batcher cuts an input into batches.
type batcher struct {
	r                 *bufio.Reader
	offset            int64
	line              int64
	maxRows, maxBytes int
	held              []byte // a line that did not fit into the last batch
	begun             bool
}

func newBatcher(r io.Reader, offset, line int64, maxRows, maxBytes int) *batcher {
	const buffer = 256 << 10
	return &batcher{r: bufio.NewReaderSize(r, buffer), offset: offset, line: line, maxRows: maxRows, maxBytes: maxBytes, begun: offset > 0}
}

// next returns the next batch, which may be empty only if it is the last. Given the pending batch of an earlier run, it returns
// exactly the lines of that one.
func (b *batcher) next(pending *pendingBatch) (*batch, error) {
	out := &batch{}
	for {
		line, err := b.readLine()
		if err != nil {
			return nil, err
		}
		if line == nil {
			out.last = true
			break
		}
		full := out.rows() >= b.maxRows || len(out.body)+len(line.text) > b.maxBytes
		if pending != nil {
			full = b.offset >= pending.End
		}
		if out.rows() > 0 && full {
			b.held = line.raw
			break
		}
		b.offset += line.size
		b.line++
		if err := b.add(out, line); err != nil {
			return nil, err
		}
	}
	out.end, out.endLine = b.offset, b.line
	return out, nil
}

// inputLine is a line as read.
type inputLine struct {
	raw  []byte // with its end; nil if it was too long to hold
	text []byte // without white space around it
	size int64  // with its end
}

// readLine returns the next line, nil at the end.
func (b *batcher) readLine() (*inputLine, error) {
	if b.held != nil {
		raw := b.held
		b.held = nil
		return &inputLine{raw, bytes.TrimSpace(raw), int64(len(raw))}, nil
	}
	var raw []byte
	var size int64
	for {
		part, err := b.r.ReadSlice('\n')
		size += int64(len(part))
		if size <= maxLineBytes {
			raw = append(raw, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && size == 0:
			return nil, nil // the end is no error
		case err == nil, errors.Is(err, io.EOF):
			if size > maxLineBytes {
				return &inputLine{size: size}, nil
			}
			return &inputLine{raw, bytes.TrimSpace(raw), size}, nil
		default:
			return nil, fmt.Errorf("read line %d: %w", b.line+1, err)
		}
	}
}

// add puts a line into the batch, or among its refused ones.
func (b *batcher) add(out *batch, line *inputLine) error {
	text := line.text
	if !b.begun {
		text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))
	}
	switch {
	case line.raw == nil:
		reason := fmt.Sprintf("has %d bytes, at most %d are sent", line.size, maxLineBytes)
		out.refused = append(out.refused, refusedLine{b.line, reason})
		return nil
	case len(text) == 0:
		return nil
	case text[0] != '{' || len(text) == 1:
		// The server would take such a line for the start of an array or of an object over many lines if it came first.
		if !b.begun {
			return fmt.Errorf("line %d holds no JSON object, so this is no file of JSON lines "+
				"(for an array: jq -c '.[]' FILE, for others: jq -c . FILE)", b.line)
		}
		const most = 40
		reason := fmt.Sprintf("a row is a JSON object, this is %q", text[:min(len(text), most)])
		out.refused = append(out.refused, refusedLine{b.line, reason})
		return nil
	}
	b.begun = true
	out.starts = append(out.starts, len(out.body))
	out.lines = append(out.lines, b.line)
	out.ends = append(out.ends, b.offset)
	out.body = append(append(out.body, text...), '\n')
	return nil
}
