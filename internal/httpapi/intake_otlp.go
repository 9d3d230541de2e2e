package httpapi

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/millstream/millstream/internal/ingress"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire/otlp"
)

// otlp adds OTLP/HTTP under its usual paths and under the intake prefix.
func (a *api) otlp(r chi.Router) {
	for _, s := range signal.All() {
		handler := a.export(s)
		r.Post("/v1/"+s.String(), handler)
		r.Post("/api/v1/intake/otlp/v1/"+s.String(), handler)
	}
}

// export takes an export request of one signal and answers in the request's encoding, or ours when that is none. Who is asking is judged
// before what they send.
func (a *api) export(s signal.Signal) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		t, err := a.target(r)
		enc, typeErr := otlp.ParseContentType(r.Header.Get("Content-Type"))
		if typeErr != nil {
			if err == nil {
				err = typeErr
			}
			writeError(w, r, err)
			return
		}
		w.Header().Set("Content-Type", enc.ContentType())
		var body []byte
		if err == nil {
			t.Signal = s
			body, err = a.exported(r, t, enc)
		}
		if err != nil {
			w.WriteHeader(errorStatus(w, r, err))
			_, _ = w.Write(otlp.Failure(enc, err)) // the client may have left
			return
		}
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(body)
	}
}

// exported stores the request's records and returns the body of the answer.
func (a *api) exported(r *http.Request, t ingress.Target, enc otlp.Encoding) ([]byte, error) {
	result, err := a.Front.Export(r.Context(), t, r.Body, r.Header.Get("Content-Encoding"), enc)
	if err != nil {
		return nil, err
	}
	return otlp.Success(enc, t.Signal, result), nil
}
