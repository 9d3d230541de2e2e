package httpapi

import (
	"errors"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/ingress"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
)

// jsonReply is the answer to a JSON intake request.
type jsonReply struct {
	Accepted int             `json:"accepted"`
	Rejected int             `json:"rejected"`
	Errors   []wire.RowError `json:"errors"`
}

// json takes JSON lines or an array for one stream.
func (a *api) json(w http.ResponseWriter, r *http.Request) {
	t, err := a.target(r)
	if err != nil {
		writeError(w, r, err)
		return
	}
	sig, ok := signal.ParseSignal(chi.URLParam(r, "signal"))
	if !ok {
		writeError(w, r, fault.New(fault.NotFound, "no such signal: %.32q (logs, metrics and traces are)", chi.URLParam(r, "signal")))
		return
	}
	t.Signal, t.Stream = sig, chi.URLParam(r, "stream")
	result, err := a.Front.JSON(r.Context(), t, r.Body, r.Header.Get("Content-Encoding"))
	if err != nil {
		a.jsonFailed(w, r, result, err)
		return
	}
	if result.Errors == nil {
		result.Errors = []wire.RowError{}
	}
	status := http.StatusOK
	if result.Accepted == 0 && result.Rejected > 0 {
		status = http.StatusBadRequest
	}
	writeJSON(w, status, jsonReply{result.Accepted, result.Rejected, result.Errors})
}

// jsonFailed answers a request that ended early: the error, and what of the request is stored.
func (a *api) jsonFailed(w http.ResponseWriter, r *http.Request, result wire.Result, err error) {
	if _, ok := errors.AsType[*ingress.PartialError](err); !ok {
		writeError(w, r, err)
		return
	}
	writeJSON(w, errorStatus(w, r, err), struct {
		errorBody
		Accepted int `json:"accepted"`
		Settled  int `json:"settled"`
	}{bodyOf(r, err), result.Accepted, result.Settled})
}
