package httpapi

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/millstream/millstream/internal/fault"
)

// operate adds the three paths that every node answers, without authentication.
func (a *api) operate(r chi.Router) {
	r.Get("/api/v1/healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{"status": "ok", "version": a.Version})
	})
	r.Get("/api/v1/readyz", a.readyz)
	r.Method(http.MethodGet, "/metrics", a.Metrics)
}

// readyz answers 200 when the node takes traffic, else 503 with the reason and how far it is.
func (a *api) readyz(w http.ResponseWriter, _ *http.Request) {
	body := a.Status.Report()
	if body == nil {
		body = map[string]any{}
	}
	if err := a.Status.Ready(); err != nil {
		body["status"], body["reason"] = "not-ready", fault.Message(err)
		w.Header().Set("Retry-After", "1")
		writeJSON(w, http.StatusServiceUnavailable, body)
		return
	}
	body["status"] = "ready"
	writeJSON(w, http.StatusOK, body)
}
