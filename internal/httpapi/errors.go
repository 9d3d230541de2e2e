package httpapi

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/fault"
)

// coder is an error with a stable code of its own, such as GreptimeDB's number of a statement's failure.
type coder interface{ StatusCode() int }

// errorBody is the JSON error object.
type errorBody struct {
	answer.Problem
	Code int `json:"code,omitempty"`
}

// problem describes err for a client.
func problem(r *http.Request, err error) answer.Problem {
	return answer.Problem{Code: fault.StatusOf(err).Code, Message: fault.Message(err), RequestID: requestID(r.Context())}
}

// writeError answers with the JSON error object and the status of err's kind.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	body := errorBody{Problem: problem(r, err)}
	var c coder
	if errors.As(err, &c) && c.StatusCode() != 0 {
		body.Code = c.StatusCode()
		w.Header().Set("X-Greptime-Err-Code", strconv.Itoa(body.Code))
	}
	writeJSON(w, errorStatus(w, r, err), body)
}

// errorStatus notes err for the access log, sets Retry-After where a retry makes sense, and returns the status.
func errorStatus(w http.ResponseWriter, r *http.Request, err error) int {
	noteError(r.Context(), err)
	if wait := fault.RetryAfter(err); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	}
	return fault.StatusOf(err).HTTP
}

// writeText answers with a plain text error (Loki's dress).
func writeText(w http.ResponseWriter, r *http.Request, err error) {
	http.Error(w, fault.Message(err), errorStatus(w, r, err))
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // the client may have left
}
