package httpapi

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/millstream/millstream/internal/promapi"
)

// prometheus mounts Prometheus' HTTP API.
func (a *api) prometheus(r chi.Router) {
	if a.PromQL == nil {
		return
	}
	r.Mount("/prometheus", promapi.Handler(promapi.Edge{
		Who: a.reader, Ready: a.Status.Ready, Failed: noteError,
		Database: func(r *http.Request) string { return r.Header.Get(databaseHeader) },
	}, a.PromQL))
}
