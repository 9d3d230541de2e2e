package parquetfile

import (
	"io"

	"github.com/millstream/millstream/internal/fault"
)

// CanCopy reports whether a column of a row group can be copied and decoded: damage, and what Decoder refuses, cannot.
func (w *Writer) CanCopy(in io.ReaderAt, f *File, group, column int) bool {
	place := f.chunk(group, column)
	if place.size > maxPageBytes || place.nulls < 0 {
		return false
	}
	w.copied = fit(w.copied, int(place.size))
	var meta chunkMeta
	return readAt(in, w.copied, place.offset) == nil && meta.pages(w.copied, 0, f.Rows(group)) == nil && meta.raw <= maxPageBytes
}

// CopyChunk writes a column of a row group of another file as the open row group's next column: its bytes as they are, after the
// checksums of its pages are verified. Both columns have the same kind and the row groups as many rows; another column, or a chunk that
// Writer would not have written, is fault.Unsupported (CanCopy tells before), a damaged one fault.Corrupt; then the file under way is not
// to be used.
func (w *Writer) CopyChunk(in io.ReaderAt, f *File, group, column int) error {
	g := &w.groups[len(w.groups)-1]
	c, from := &w.columns[len(g.chunks)], &f.columns[column]
	if c.Kind != from.Kind || c.Required != from.Required || f.Rows(group) != g.rows {
		return fault.New(fault.Unsupported, "column %q of another file does not fit column %q", from.Name, c.Name)
	}
	place := f.chunk(group, column)
	if place.size > maxPageBytes || place.nulls < 0 {
		return fault.New(fault.Unsupported, "a column chunk of %d bytes", place.size)
	}
	w.copied = fit(w.copied, int(place.size))
	if err := readAt(in, w.copied, place.offset); err != nil {
		return err
	}
	meta := chunkMeta{codec: place.codec, size: place.size, stats: place.statistics(f.footer)}
	if err := meta.pages(w.copied, w.offset, g.rows); err != nil {
		return err
	}
	g.chunks = append(g.chunks, meta)
	return w.write(w.copied)
}

// pages notes what the footer says of the pages of a chunk that will stand at an offset.
func (m *chunkMeta) pages(chunk []byte, offset int64, rows int) error {
	r := chunkReader{Decoder: &Decoder{}, rest: chunk}
	for row := 0; row < rows; {
		at := len(chunk) - len(r.rest)
		h, err := r.header()
		if err != nil {
			return err
		}
		switch {
		case h.kind == pageType(true) && at == 0:
			m.dictOffset = offset
		case h.kind == pageType(false) && (m.dataOffset == 0 || h.encoding == m.encoding):
			if m.dataOffset == 0 {
				m.dataOffset, m.encoding = offset+int64(at), h.encoding
			}
			row += int(h.values)
		default:
			return fault.New(fault.Unsupported, "a page of type %d", h.kind)
		}
		m.raw += int64(len(chunk)-len(r.rest)-at) + int64(h.raw)
		r.rest = r.rest[h.size:]
	}
	if len(r.rest) > 0 {
		return damaged()
	}
	return nil
}

// statistics returns the bounds of a chunk for another footer.
func (c *chunkPlace) statistics(footer []byte) statistics {
	s := statistics{nulls: c.nulls, minExact: c.lowExact, maxExact: c.highExact}
	if c.low.length >= 0 && c.high.length >= 0 {
		s.bounded, s.min, s.max = true, string(c.low.of(footer)), string(c.high.of(footer))
	}
	return s
}

// NumberStats returns the statistics of a chunk of numbers, times or truth values. It is not ok for texts, and when they are not known.
func (f *File) NumberStats(group, column int) (s Stats, ok bool) {
	nulls, ok := f.Nulls(group, column)
	s.Nulls, s.Values = nulls, int64(f.Rows(group))-nulls
	if !ok || s.Values < 0 {
		return s, false
	}
	if s.Values == 0 {
		return s, true
	}
	switch f.columns[column].Kind {
	case Float64:
		s.MinFloat, s.MaxFloat, ok = f.FloatBounds(group, column)
	case Text, JSON:
		return s, false
	default:
		s.MinInt, s.MaxInt, ok = f.IntBounds(group, column)
	}
	return s, ok
}
