package ingress

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/quota"
	"github.com/millstream/millstream/internal/signal"
)

// rowRateLimited is the reason of rows refused by the limit of their database.
const rowRateLimited = "row_rate_limited"

// OptionRemoteWriteStatus is the option of a database that says how remote write is refused above a rate: "429" (default) or "503", which
// Prometheus sends again whatever its settings.
const OptionRemoteWriteStatus = "remote_write_reject_status"

// databaseOf returns the database that a stream's rows are charged to.
func databaseOf(s signal.Stream) quota.Database { return quota.Database{Org: s.Org, Name: s.Database} }

// admitRows charges the rows of a request, or of a chunk of it, to their database.
func (f *Front) admitRows(ctx context.Context, d quota.Database, rows int) error {
	err := f.limits.Rows.Admit(ctx, quota.Charge{Database: d, Rows: int64(rows)})
	if err != nil {
		f.discards.rows.WithLabelValues(f.discards.labels.Of(d.Org), rowRateLimited).Add(float64(rows))
	}
	return err
}

// RemoteWriteStatus returns the HTTP status of a remote write request to the target that failed with err: that of err's kind, but above a
// rate what the database chooses. The limit of named streams is no rate: sent again it would be refused again.
func (f *Front) RemoteWriteStatus(t Target, err error) int {
	if fault.Is(err, fault.Limited) && fault.Reason(err) != limits.StreamLimit && f.limits.Options != nil && t.Org != "" {
		if f.limits.Options(t.Org, orDefault(t.Database, signal.DefaultDatabase))[OptionRemoteWriteStatus] == "503" {
			return http.StatusServiceUnavailable
		}
	}
	return fault.StatusOf(err).HTTP
}

// peekBytes is how much of a JSON body is looked at to tell lines from an array.
const peekBytes = 4096

// peekWhole reports whether a JSON body is one array or one object spread over lines, which passes limits as a whole, and not JSON lines.
// The reader returned reads the same bytes.
func peekWhole(r io.Reader) (io.Reader, bool) {
	b := bufio.NewReaderSize(r, peekBytes)
	head, _ := b.Peek(peekBytes) // an error comes again at the read
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	head = bytes.TrimLeft(head, " \t\r\n")
	line, _, ended := bytes.Cut(head, []byte("\n")) // else nobody knows what else stands in the line
	return b, bytes.HasPrefix(head, []byte("[")) || ended && string(bytes.TrimSpace(line)) == "{"
}

// admission is how the pipeline of one request charges its rows.
type admission uint8

const (
	admitNothing admission = iota // the database has no limit
	admitWhole                    // batches are held until all rows are known, and pass or are refused together
	admitChunks                   // each batch passes for itself; the first that is refused ends the request
)

// admissionOf returns how the rows of a request to a database are charged.
func (f *Front) admissionOf(ctx context.Context, d quota.Database, whole bool) admission {
	switch {
	case !f.limits.Rows.Limited(ctx, d):
		return admitNothing
	case whole:
		return admitWhole
	default:
		return admitChunks
	}
}
