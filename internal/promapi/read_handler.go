package promapi

import (
	"io"
	"net/http"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/prompb"

	"github.com/millstream/millstream/internal/fault"
)

// maxReadRequestBytes bounds a remote read request, compressed and not, as in Prometheus.
const maxReadRequestBytes = 32 << 20

// ReadHandler serves remote read at the path that it is mounted at. Errors are plain text, as Prometheus' are; one that comes after the
// first part of an answer breaks the connection, so that the reader does not take what it has for the whole.
func ReadHandler(edge Edge, reader Reader) http.Handler {
	h := &readHandler{handler: handler{edge: edge.withDefaults()}, reader: reader}
	return http.HandlerFunc(h.serve)
}

type readHandler struct {
	handler
	reader Reader
}

func (h *readHandler) serve(w http.ResponseWriter, r *http.Request) {
	q, err := h.request(w, r)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	if q.Streamed {
		h.stream(w, r, q)
		return
	}
	var message []byte
	err = h.reader.Read(r.Context(), q, func(part []byte) error {
		message = append(message, part...)
		if len(message) > maxReadBytes {
			return fault.New(fault.TooLarge, "the samples take more than %d bytes; accept STREAMED_XOR_CHUNKS or ask for less", maxReadBytes)
		}
		return nil
	})
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.Header().Set("Content-Encoding", "snappy")
	_, _ = w.Write(snappy.Encode(nil, message)) // the client may have left
}

// stream writes frames as they come.
func (h *readHandler) stream(w http.ResponseWriter, r *http.Request, q ReadRequest) {
	const contentType = "application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse"
	flush := http.NewResponseController(w).Flush
	begun := false
	err := h.reader.Read(r.Context(), q, func(part []byte) error {
		if !begun {
			w.Header().Set("Content-Type", contentType)
			begun = true
		}
		if _, err := w.Write(part); err != nil {
			return fault.Wrap(fault.Canceled, err, "the client has left")
		}
		return flush()
	})
	switch {
	case err == nil:
		w.Header().Set("Content-Type", contentType) // of an answer without series
	case begun:
		h.edge.Failed(r.Context(), err)
		panic(http.ErrAbortHandler)
	default:
		h.refuse(w, r, err)
	}
}

// request reads a request.
func (h *readHandler) request(w http.ResponseWriter, r *http.Request) (q ReadRequest, err error) {
	p, err := h.edge.Who(r)
	if err != nil {
		return q, err
	}
	if len(p.Orgs) > 1 {
		return q, fault.New(fault.Invalid, "a remote read is about one org, the request names %d", len(p.Orgs))
	}
	q.Org, q.Actor = p.Org(), p.Actor
	if q.Database, err = h.edge.database(r, r.URL.Query()); err != nil {
		return q, err
	}
	block, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReadRequestBytes))
	if err != nil {
		return q, fault.Wrap(fault.Invalid, err, "read the request: %s", err)
	}
	if n, err := snappy.DecodedLen(block); err != nil || n > maxReadRequestBytes {
		return q, fault.Wrap(fault.Invalid, err, "the body is no snappy block of at most %d bytes", maxReadRequestBytes)
	}
	if q.Body, err = snappy.Decode(nil, block); err != nil {
		return q, fault.Wrap(fault.Invalid, err, "the body is no snappy block")
	}
	var m prompb.ReadRequest
	if err := m.Unmarshal(q.Body); err != nil {
		return q, fault.Wrap(fault.Invalid, err, "the body is no remote read request: %s", err)
	}
	q.Streamed, err = negotiate(m.AcceptedResponseTypes)
	return q, err
}

func (h *readHandler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	h.edge.Failed(r.Context(), err)
	kind, text := classify(err)
	if kind.status == http.StatusServiceUnavailable || kind.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, text, kind.status)
}
