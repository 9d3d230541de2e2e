package httpapi

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/millstream/millstream/internal/fault"
)

// loki adds Loki's push endpoint under its own paths and under the intake prefix.
func (a *api) loki(r chi.Router) {
	for _, path := range []string{"/loki/api/v1/push", "/api/prom/push", "/api/v1/intake/loki/api/v1/push"} {
		r.Post(path, a.lokiPush)
	}
	r.Get("/ready", func(w http.ResponseWriter, r *http.Request) { // what Loki's agents probe
		if err := a.Status.Ready(); err != nil {
			writeText(w, r, err)
			return
		}
		_, _ = w.Write([]byte("ready\n"))
	})
}

// lokiPush stores a push request. Entries that cannot be stored make it a 400 whose text groups the reasons; the others are kept.
func (a *api) lokiPush(w http.ResponseWriter, r *http.Request) {
	t, err := a.target(r)
	if err != nil {
		writeText(w, r, err)
		return
	}
	result, err := a.Front.Loki(r.Context(), t, r.Header.Get("Content-Type"), r.Header.Get("Content-Encoding"), r.Body)
	if err == nil && result.Rejected > 0 {
		err = fault.New(fault.Invalid, "%s", result.Summary())
	}
	if err != nil {
		writeText(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
