package httpapi

import (
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/ingress"
	"github.com/millstream/millstream/internal/wire/promwrite"
)

// prometheusWrite adds remote write under its usual paths and under the intake prefix.
func (a *api) prometheusWrite(r chi.Router) {
	for _, path := range []string{
		"/api/v1/write", "/api/v1/prom/push", "/prometheus/api/v1/write",
		"/api/v1/intake/prometheus/api/v1/write",
	} {
		r.Post(path, a.remoteWrite)
	}
}

// backfillHeader of value true lets samples of any age in, whatever their series have already.
const backfillHeader = "X-Millstream-Backfill"

// Headers of version 2.0 that say how much of a request is stored.
const (
	samplesWritten    = "X-Prometheus-Remote-Write-Samples-Written"
	histogramsWritten = "X-Prometheus-Remote-Write-Histograms-Written"
	exemplarsWritten  = "X-Prometheus-Remote-Write-Exemplars-Written"
)

// remoteWrite stores a write request. What cannot be stored makes it a 400 whose text groups the reasons; the rest is kept. Senders
// repeat a 5xx or 429 and never a 400.
func (a *api) remoteWrite(w http.ResponseWriter, r *http.Request) {
	t, err := a.target(r)
	if err != nil {
		writeText(w, r, err)
		return
	}
	t.Backfill = r.Header.Get(backfillHeader) == "true"
	contentType := r.Header.Get("Content-Type")
	result, err := a.Front.RemoteWrite(r.Context(), t, contentType, r.Header.Get("Content-Encoding"), r.Body)
	if version, _ := ingress.RemoteWriteVersion(contentType); version == promwrite.V2 && tellsWritten(err) {
		w.Header().Set(samplesWritten, strconv.Itoa(result.Samples))
		w.Header().Set(histogramsWritten, strconv.Itoa(result.Histograms))
		w.Header().Set(exemplarsWritten, strconv.Itoa(result.Exemplars))
	}
	if err == nil && result.Rejected > 0 {
		err = fault.New(fault.Invalid, "%s", result.Summary())
	}
	if err != nil {
		errorStatus(w, r, err)
		http.Error(w, fault.Message(err), a.Front.RemoteWriteStatus(t, err))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// tellsWritten reports whether it is certain how much of a request is stored: all that is good, or nothing at all above a rate.
func tellsWritten(err error) bool {
	return err == nil || fault.Is(err, fault.Invalid) || fault.Is(err, fault.Limited)
}
