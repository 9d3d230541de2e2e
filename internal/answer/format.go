package answer

import (
	"context"
	"errors"
	"io"
	"mime"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/millstream/millstream/internal/fault"
)

// Format is how a result is written.
type Format uint8

// The formats. JSON is the answer to a client that does not choose.
const (
	JSON Format = iota
	NDJSON
	CSV
	Arrow
)

// ContentType returns the media type of the format.
func (f Format) ContentType() string {
	switch f {
	case NDJSON:
		return "application/x-ndjson"
	case CSV:
		return "text/csv; charset=utf-8; header=present"
	case Arrow:
		return "application/vnd.apache.arrow.stream"
	default:
		return "application/json"
	}
}

// ParseAccept returns the first format of an Accept header that is known; JSON for an empty header or a wildcard. A header that
// names only others is fault.Invalid.
func ParseAccept(accept string) (Format, error) {
	if strings.TrimSpace(accept) == "" {
		return JSON, nil
	}
	for part := range strings.SplitSeq(accept, ",") {
		media, _, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		switch media {
		case "application/json", "*/*", "application/*":
			return JSON, nil
		case "application/x-ndjson", "application/jsonl", "application/x-jsonlines":
			return NDJSON, nil
		case "text/csv", "text/*":
			return CSV, nil
		case "application/vnd.apache.arrow.stream":
			return Arrow, nil
		}
	}
	return JSON, fault.New(fault.Invalid,
		"Accept %.100q: application/json, application/x-ndjson, text/csv and application/vnd.apache.arrow.stream are written here", accept)
}

// Source is a running result.
type Source interface {
	// Schema describes the columns.
	Schema() *arrow.Schema
	// Next returns the next rows, which the caller releases, or io.EOF after the last.
	Next(ctx context.Context) (arrow.RecordBatch, error)
}

// Stats is what a query cost. The names are those of the query API.
type Stats struct {
	QueueMS        float64          `json:"queue_ms,omitempty"` // how long it waited for its turn
	ScannedRows    int64            `json:"scanned_rows"`
	ScannedBytes   int64            `json:"scanned_bytes"`
	FreshRows      int64            `json:"fresh_rows"`
	Segments       int              `json:"segments"`
	SegmentsPruned int              `json:"segments_pruned"`
	RowGroups      int              `json:"row_groups"`        // of the segments read
	GroupsPruned   int              `json:"row_groups_pruned"` // of those, left out by the search index
	Rows           int64            `json:"rows"`
	TookMS         float64          `json:"took_ms"`
	Pruned         map[string]int64 `json:"pruned_by,omitempty"` // segments left out, by reason
}

// Meta ends every answer.
type Meta struct {
	Stats    Stats    `json:"stats"`
	Warnings []string `json:"warnings"`
	Error    *Problem `json:"error,omitempty"`
}

// Problem is the error object of answers.
type Problem struct {
	Code      string `json:"error"`
	Message   string `json:"message"`
	RequestID string `json:"request_id,omitempty"`
}

// Writer writes one result. Flush, when set, is called when a first row was written and after each record, so that rows reach the
// client while later ones are computed.
type Writer struct {
	W       io.Writer
	Flush   func()
	Format  Format
	Meta    func() Meta         // called once, after the last row
	Trailer func(meta Meta)     // takes the meta of formats that have no place for it (CSV, Arrow)
	Problem func(error) Problem // names the error that ended a result early
}

// Write writes the result of src to its end. first is the first record, read by the caller so that a failure before any row still
// gets a status of its own; it may be nil for an empty result. The error of a result that ended early is told in the answer and
// returned.
func (w *Writer) Write(ctx context.Context, src Source, first arrow.RecordBatch) error {
	enc := w.encoder(src.Schema())
	if err := enc.begin(); err != nil {
		return err
	}
	var rows int64
	var failed error
	for batch := first; batch != nil; {
		err := enc.rows(batch)
		rows += batch.NumRows()
		batch.Release()
		if err != nil {
			return err
		}
		if w.Flush != nil {
			w.Flush()
		}
		batch, err = src.Next(ctx)
		if err != nil {
			batch = nil
			if !errors.Is(err, io.EOF) {
				failed = err
			}
		}
	}
	meta := w.Meta()
	meta.Stats.Rows = rows
	if meta.Warnings == nil {
		meta.Warnings = []string{}
	}
	if failed != nil {
		p := w.Problem(failed)
		meta.Error = &p
	}
	if w.Trailer != nil {
		w.Trailer(meta)
	}
	return errors.Join(failed, enc.end(meta))
}

type encoder interface {
	begin() error
	rows(batch arrow.RecordBatch) error
	end(meta Meta) error
}

func (w *Writer) encoder(s *arrow.Schema) encoder {
	switch w.Format {
	case NDJSON:
		return newNDJSON(w.W, s)
	case CSV:
		return newCSV(w.W, s)
	case Arrow:
		return &arrowEncoder{w: ipc.NewWriter(w.W, ipc.WithSchema(s)), schema: s}
	default:
		return newJSON(w.W, s)
	}
}

type arrowEncoder struct {
	w      *ipc.Writer
	schema *arrow.Schema
}

func (e *arrowEncoder) begin() error                       { return nil }
func (e *arrowEncoder) rows(batch arrow.RecordBatch) error { return e.w.Write(batch) }

// end closes the stream. A result that failed is left without the end mark, so that readers notice.
func (e *arrowEncoder) end(meta Meta) error {
	if meta.Error != nil {
		return nil
	}
	return e.w.Close()
}
