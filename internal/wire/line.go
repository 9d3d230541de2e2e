package wire

import (
	"bytes"
	"errors"
	"io"
)

// Line is one line of a body.
type Line struct {
	Text    []byte // without its end, valid until the next call; nil when TooLong
	Number  int    // from 1, empty lines counted
	Size    int64  // bytes without the line's end
	TooLong bool   // longer than the limit: Text was not kept
}

// NextLine returns the next line, which ends with "\n" or "\r\n" or with the body; io.EOF after the last.
func (b *Body) NextLine() (Line, error) {
	scanned := 0
	for {
		if i := bytes.IndexByte(b.buf[b.pos+scanned:b.end], '\n'); i >= 0 {
			text := b.buf[b.pos : b.pos+scanned+i]
			b.lineFrom = b.pos
			b.pos += scanned + i + 1
			return b.line(text), nil
		}
		scanned = b.end - b.pos
		if scanned > b.rowLimit+1 { // one for "\r"
			return b.skipLine()
		}
		err := b.fill()
		switch {
		case err == nil:
		case errors.Is(err, io.EOF) && scanned > 0:
			text := b.buf[b.pos:b.end]
			b.lineFrom, b.pos = b.pos, b.end
			return b.line(text), nil
		default:
			return Line{}, err
		}
	}
}

// Unread puts the last line back that NextLine returned with its text. It may be called once after each.
func (b *Body) Unread() {
	b.pos = b.lineFrom
	b.number--
}

func (b *Body) line(text []byte) Line {
	b.number++
	text = bytes.TrimSuffix(text, []byte{'\r'})
	if len(text) > b.rowLimit {
		return Line{Number: b.number, Size: int64(len(text)), TooLong: true}
	}
	return Line{Text: text, Number: b.number, Size: int64(len(text))}
}

// skipLine reads to the end of a line of which more than the limit is held, keeping nothing.
func (b *Body) skipLine() (Line, error) {
	b.number++
	var size int64
	last := byte(0)
	for {
		held := b.buf[b.pos:b.end]
		i := bytes.IndexByte(held, '\n')
		ended := i >= 0
		if ended {
			held = held[:i]
			b.pos++
		}
		b.pos += len(held)
		size += int64(len(held))
		if len(held) > 0 {
			last = held[len(held)-1]
		}
		if !ended {
			err := b.fill()
			if err == nil {
				continue
			}
			if !errors.Is(err, io.EOF) {
				return Line{}, err
			}
		}
		if last == '\r' {
			size--
		}
		return Line{Number: b.number, Size: size, TooLong: true}, nil
	}
}
