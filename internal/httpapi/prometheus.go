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
	edge := promapi.Edge{
		Who: a.queryReader, Ready: a.Status.Ready, Failed: noteError,
		Database: func(r *http.Request) string { return r.Header.Get(databaseHeader) },
	}
	r.Mount("/prometheus", promapi.Handler(edge, a.PromQL))
	if a.PromRead != nil {
		read := promapi.ReadHandler(edge, a.PromRead)
		for _, path := range []string{"/prometheus/api/v1/read", "/api/v1/read", "/api/v1/prom/read"} {
			r.Method(http.MethodPost, path, read)
		}
	}
}
