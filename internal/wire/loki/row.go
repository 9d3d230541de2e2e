package loki

import (
	"bytes"
	"fmt"

	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
)

// Names of columns.
const (
	messageColumn  = "message"
	metadataPrefix = "metadata."
)

// writer turns entries into rows.
type writer struct {
	opts   wire.Options
	window wire.Window
	chunk  *wire.Chunk
	result wire.Result
	rows   int // entries seen so far, refused ones included

	labels     signal.LabelSet // of the stream
	labelsJSON []byte
	labelsErr  error // why the stream is refused
	entry      entry
	name       []byte
	overflow   wire.Overflow
}

// entry is one line of a stream. Its bytes belong to the request.
type entry struct {
	nanos    int64
	line     []byte
	metadata []pair
	size     int // bytes of all its texts
}

type pair struct{ name, value []byte }

func (e *entry) reset() { *e = entry{metadata: e.metadata[:0]} }

func (e *entry) addMetadata(name, value []byte) {
	e.metadata = append(e.metadata, pair{name, value})
	e.size += len(name) + len(value)
}

func (w *writer) init(stream signal.Stream, opts wire.Options, emit wire.Emit) {
	w.opts = opts
	w.window = opts.Window()
	w.chunk = wire.NewChunk(stream, emit, &w.result)
}

// beginStream takes over w.labels, whose reading gave err.
func (w *writer) beginStream(err error) {
	w.labelsErr = err
	if err == nil && w.labels.Len() == 0 {
		w.labelsErr = wire.Reject(wire.BadLabels, "a stream needs at least one label")
	}
	w.labelsJSON = w.labels.AppendJSON(w.labelsJSON[:0])
	if w.labelsErr == nil {
		if err := w.opts.CheckLabels(&w.labels); err != nil {
			w.labelsErr = w.ofStream(err)
		}
	}
}

// add writes w.entry, read with the error err, as a row of the stream. It returns emit's error.
func (w *writer) add(err error) error {
	e := &w.entry
	index := w.rows
	w.rows++
	switch {
	case w.labelsErr != nil:
		w.result.Reject(index, w.labelsErr)
		return nil
	case err != nil:
		w.result.Reject(index, w.ofStream(err))
		return nil
	case len(e.line) > w.opts.MaxLineBytes:
		w.result.RejectLong(index, fmt.Sprintf("a line of stream %.200s", w.labelsJSON), int64(len(e.line)), w.opts.MaxLineBytes)
		return nil
	case e.size > 2*w.opts.MaxLineBytes:
		w.result.RejectLong(index, fmt.Sprintf("the metadata of a line of stream %.200s", w.labelsJSON), int64(e.size), 2*w.opts.MaxLineBytes)
		return nil
	}
	if err := w.window.Check(e.nanos); err != nil {
		w.result.Reject(index, w.ofStream(err))
		return nil
	}
	if err := w.chunk.Room(e.size+2*len(w.labelsJSON), index); err != nil {
		return err
	}
	w.write()
	return nil
}

func (w *writer) ofStream(err error) error { return wire.At(err, "stream %.200s", w.labelsJSON) }

func (w *writer) write() {
	b := w.chunk.Builder
	b.BeginRow()
	b.SetJSON(b.OwnColumn(signal.LabelsColumn), w.labelsJSON)
	for i := range w.labels.Len() {
		name, value := w.labels.At(i)
		if string(name) == messageColumn {
			continue // stands in the label set
		}
		if r, ok := w.column(name); ok && !b.IsSet(r) {
			b.SetString(r, value)
		}
	}
	b.SetString(b.OwnColumn(messageColumn), w.entry.line)
	w.overflow.Reset()
	for _, p := range w.entry.metadata {
		w.writeMetadata(p)
	}
	w.overflow.Write(b)
	b.EndRow(w.entry.nanos)
}

// column returns the column of a name, false when the batch has its number of columns already.
func (w *writer) column(name []byte) (signal.Ref, bool) {
	b := w.chunk.Builder
	if r, ok := b.Find(name); ok {
		return r, true
	}
	if b.Columns() >= w.opts.MaxColumns || len(name) > signal.MaxNameBytes {
		return 0, false
	}
	return b.Column(name), true
}

// writeMetadata writes one pair: to the column of its name, to "metadata." + name if that is taken, to the overflow if that is too.
func (w *writer) writeMetadata(p pair) {
	b := w.chunk.Builder
	w.name = appendName(append(w.name[:0], metadataPrefix...), p.name)
	plain := w.name[len(metadataPrefix):]
	for _, name := range [][]byte{plain, w.name} {
		if r, ok := w.column(name); ok && !b.IsSet(r) && !w.isLabel(name) {
			b.SetString(r, p.value)
			return
		}
	}
	w.overflow.AddText(p.name, p.value)
}

// isLabel reports whether the stream has a label of this name, which may have found no column.
func (w *writer) isLabel(name []byte) bool {
	for i := range w.labels.Len() {
		if label, _ := w.labels.At(i); bytes.Equal(label, name) {
			return true
		}
	}
	return false
}

// finish hands over what is left.
func (w *writer) finish() error {
	return w.chunk.Flush(w.rows)
}
