package httpapi

import (
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/wire/esbulk"
)

// bulk takes an Elasticsearch bulk request and answers an item a document, each with its own status.
func (a *api) bulk(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	t, err := a.target(r)
	if err != nil {
		elasticError(w, r, err)
		return
	}
	if index := chi.URLParam(r, "index"); index != "" {
		t.Stream = index
	}
	response, err := a.Front.Bulk(r.Context(), t, r.Body, r.Header.Get("Content-Encoding"))
	if err == nil {
		err = response.Refused
	}
	if err != nil {
		elasticError(w, r, err)
		return
	}
	elasticHeader(w)
	writeJSON(w, http.StatusOK, bulkReplyOf(response, time.Since(started)))
}

// bulkReply is the answer in Elasticsearch's form.
type bulkReply struct {
	Took   int64                 `json:"took"`
	Errors bool                  `json:"errors"`
	Items  []map[string]bulkItem `json:"items"`
}

type bulkItem struct {
	Index  string        `json:"_index"`
	ID     string        `json:"_id"`
	Status int           `json:"status"`
	Result string        `json:"result,omitempty"`
	Error  *elasticCause `json:"error,omitempty"`
}

func bulkReplyOf(response esbulk.Response, took time.Duration) bulkReply {
	reply := bulkReply{Took: took.Milliseconds(), Items: make([]map[string]bulkItem, len(response.Items))}
	for i, item := range response.Items {
		out := bulkItem{Index: item.Index, ID: item.ID, Status: item.Status}
		if item.ErrorType == "" {
			out.Result = "created"
		} else {
			reply.Errors = true
			out.Error = &elasticCause{Type: item.ErrorType, Reason: item.Reason}
		}
		reply.Items[i] = map[string]bulkItem{item.Action: out}
	}
	return reply
}

// elasticCause is the error object of Elasticsearch.
type elasticCause struct {
	Type   string `json:"type"`
	Reason string `json:"reason"`
}

// elasticError answers a request that failed as a whole in Elasticsearch's form.
func elasticError(w http.ResponseWriter, r *http.Request, err error) {
	status := errorStatus(w, r, err)
	cause := elasticCause{Type: elasticType(err), Reason: fault.Message(err)}
	elasticHeader(w)
	writeJSON(w, status, map[string]any{
		"error": struct {
			elasticCause
			RootCause []elasticCause `json:"root_cause"`
			RequestID string         `json:"request_id"`
		}{cause, []elasticCause{cause}, requestID(r.Context())},
		"status": status,
	})
}

// elasticType is the type of a request's failure. Shippers know the one of an overload.
func elasticType(err error) string {
	if fault.Is(err, fault.Limited) {
		return esbulk.TypeOverload
	}
	return fault.StatusOf(err).Code + "_exception"
}
