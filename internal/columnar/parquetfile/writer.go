package parquetfile

import (
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Options configure a Writer.
type Options struct {
	Level     int // of zstd, as its command line counts; 0 stores pages as they are
	CreatedBy string
	// Meta are key and value pairs in the footer.
	Meta [][2]string
}

const magic = "PAR1"

// Codecs, by their numbers in the format.
const (
	codecNone = 0
	codecZstd = 6
)

// Writer writes one file. Rows come in row groups, each whole.
type Writer struct {
	out      io.Writer
	offset   int64
	columns  []Column
	opts     Options
	zstd     *zstd.Encoder // nil when pages are stored as they are
	encoder  encoder
	packed   [2][]byte // compressed dictionary and data
	header   thrift
	groups   []rowGroup
	rows     int64
	finished bool
	distinct []string // see Distinct
	copied   []byte   // see CopyChunk
	places   []uint32
}

type rowGroup struct {
	rows   int
	chunks []chunkMeta
	start  int64
}

type chunkMeta struct {
	encoding   int32
	codec      int32
	dictOffset int64 // 0 when there is none
	dataOffset int64
	raw, size  int64 // bytes with headers, before and after compression
	stats      statistics
}

// statistics are bounds in the form of the footer.
type statistics struct {
	nulls              int64
	bounded            bool
	min, max           string
	minExact, maxExact bool
}

// NewWriter returns a writer of a file of the columns to out and writes the file's first bytes. The columns are kept.
func NewWriter(out io.Writer, columns []Column, opts Options) (*Writer, error) {
	w := &Writer{out: out, columns: columns, opts: opts}
	w.encoder.texts.init()
	if opts.Level > 0 {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(opts.Level)), zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true), zstd.WithAllLitEntropyCompression(true))
		if err != nil {
			return nil, fmt.Errorf("set up zstd level %d: %w", opts.Level, err)
		}
		w.zstd = enc
	}
	if err := w.write([]byte(magic)); err != nil {
		return nil, err
	}
	return w, nil
}

// RowGroups returns how many row groups were written.
func (w *Writer) RowGroups() int { return len(w.groups) }

// BeginRowGroup starts a row group of 1 or more rows. WriteChunk follows once a column, in their order.
func (w *Writer) BeginRowGroup(rows int) {
	w.groups = append(w.groups, rowGroup{rows: rows, start: w.offset, chunks: make([]chunkMeta, 0, len(w.columns))})
	w.rows += int64(rows)
}

// WriteChunk writes the values of the row group's next column and returns their statistics.
func (w *Writer) WriteChunk(chunk *Chunk) (Stats, error) {
	g := &w.groups[len(w.groups)-1]
	c := &w.columns[len(g.chunks)]
	data, dict, distinct := w.encoder.encode(c, chunk, g.rows)
	stats := statsOf(c, chunk, g.rows, distinct)
	// What is kept until the footer must not keep the row group's texts in memory.
	stats.MinText, stats.MaxText = strings.Clone(stats.MinText), strings.Clone(stats.MaxText)
	w.distinct, w.places = distinct, w.encoder.texts.index
	if distinct == nil {
		w.distinct, w.places = chunk.Texts, nil
	}
	meta := chunkMeta{encoding: data.encoding, stats: footerStats(c.Kind, stats)}
	bodies := [2][]byte{dict.body, data.body}
	if w.compress(bodies) {
		meta.codec, bodies = codecZstd, w.packed
	}
	if dict.values > 0 {
		meta.dictOffset = w.offset
		if err := w.writePage(&meta, dict, bodies[0], true); err != nil {
			return stats, err
		}
	}
	meta.dataOffset = w.offset
	if err := w.writePage(&meta, data, bodies[1], false); err != nil {
		return stats, err
	}
	g.chunks = append(g.chunks, meta)
	return stats, nil
}

// AddMeta adds a pair to the footer.
func (w *Writer) AddMeta(key, value string) { w.opts.Meta = append(w.opts.Meta, [2]string{key, value}) }

// Distinct returns the texts of the last chunk written, each that occurs at least once, and the place in them of the text of each row
// that has one; places are nil when they are the rows themselves. Both are valid until the next WriteChunk.
func (w *Writer) Distinct() (texts []string, places []uint32) { return w.distinct, w.places }

// compress packs both bodies and reports whether that pays.
func (w *Writer) compress(bodies [2][]byte) bool {
	if w.zstd == nil {
		return false
	}
	before, after := 0, 0
	for i, b := range bodies {
		w.packed[i] = w.zstd.EncodeAll(b, w.packed[i][:0])
		before, after = before+len(b), after+len(w.packed[i])
	}
	return after < before-before/16
}

func (w *Writer) writePage(meta *chunkMeta, p page, body []byte, dictionary bool) error {
	h := &w.header
	h.buf = h.buf[:0]
	h.begin()
	h.i32(1, pageType(dictionary))
	h.i32(2, int32(len(p.body)))
	h.i32(3, int32(len(body)))
	h.i32(4, int32(crc32.ChecksumIEEE(body)))
	if dictionary {
		h.open(7)
		h.i32(1, int32(p.values))
		h.i32(2, p.encoding)
	} else {
		h.open(5)
		h.i32(1, int32(p.values))
		h.i32(2, p.encoding)
		h.i32(3, rle)
		h.i32(4, rle)
	}
	h.end()
	h.end()
	meta.raw += int64(len(h.buf) + len(p.body))
	meta.size += int64(len(h.buf) + len(body))
	if err := w.write(h.buf); err != nil {
		return err
	}
	return w.write(body)
}

func pageType(dictionary bool) int32 {
	if dictionary {
		return 2
	}
	return 0
}

// Close writes the footer. It does not close out.
func (w *Writer) Close() error {
	if w.finished {
		return nil
	}
	w.finished = true
	if w.zstd != nil {
		if err := w.zstd.Close(); err != nil {
			return fmt.Errorf("close zstd: %w", err)
		}
	}
	return w.write(w.footer())
}

func (w *Writer) write(b []byte) error {
	n, err := w.out.Write(b)
	w.offset += int64(n)
	if err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	return nil
}

// Size returns how many bytes were written.
func (w *Writer) Size() int64 { return w.offset }
