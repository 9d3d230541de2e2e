package httpapi

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/quota"
)

// coder is an error with a stable code of its own, such as GreptimeDB's number of a statement's failure.
type coder interface{ StatusCode() int }

// errorBody is the JSON error object.
type errorBody struct {
	answer.Problem
	*limitFacts
	Code   int    `json:"code,omitempty"`
	TookMS *int64 `json:"execution_time_ms,omitempty"` // where GreptimeDB has it: beside its code
}

// limitFacts are what a client is told of a database's row limit.
type limitFacts struct {
	Database string `json:"database"`
	Rows     int64  `json:"rejected_rows"`
	Quota    uint64 `json:"current_quota"`
	Limit    uint64 `json:"limit"`
}

// nameRateLimited stands in the place of the stable code where a database's row limit refuses.
const nameRateLimited = "RateLimited"

// problem describes err for a client.
func problem(r *http.Request, err error) answer.Problem {
	return answer.Problem{Code: fault.StatusOf(err).Code, Message: fault.Message(err), RequestID: requestID(r.Context())}
}

// bodyOf describes err with everything that a client is told.
func bodyOf(r *http.Request, err error) errorBody {
	body := errorBody{Problem: problem(r, err)}
	if code := errorCode(err); code != 0 {
		took := time.Since(exchangeOf(r.Context()).started).Milliseconds()
		body.Code, body.TookMS = code, &took
	}
	if refused, ok := errors.AsType[*quota.RowsRefused](err); ok {
		body.Problem.Code = nameRateLimited
		body.limitFacts = &limitFacts{refused.Database, refused.Rows, refused.Quota, refused.Limit}
	}
	return body
}

// errorCode returns GreptimeDB's number of the failure, 0 for none.
func errorCode(err error) int {
	var c coder
	if errors.As(err, &c) {
		return c.StatusCode()
	}
	return 0
}

// writeError answers with the JSON error object and the status of err's kind.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	writeJSON(w, errorStatus(w, r, err), bodyOf(r, err))
}

// errorStatus notes err for the access log, sets Retry-After where a retry makes sense and the headers of GreptimeDB's number, and returns
// the status.
func errorStatus(w http.ResponseWriter, r *http.Request, err error) int {
	noteError(r.Context(), err)
	if wait := fault.RetryAfter(err); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter(wait)))
	}
	if code := errorCode(err); code != 0 {
		w.Header().Set("X-Greptime-Err-Code", strconv.Itoa(code))
		w.Header().Set("X-Greptime-Err-Msg", printable(fault.Message(err)))
	}
	return fault.StatusOf(err).HTTP
}

// maxRetryAfter is the longest wait in whole seconds that a client is told, before the jitter.
const maxRetryAfter = int(quota.MaxRetryAfter / time.Second)

// retryAfter returns a wait in whole seconds, rounded up, since a client that comes too early is refused again, and up to a quarter longer
// by chance, so that clients refused together do not come back together.
func retryAfter(wait time.Duration) int {
	seconds := min(max(int(math.Ceil(wait.Seconds())), 1), maxRetryAfter)
	return seconds + rand.IntN(seconds/4+1)
}

// maxHeaderText bounds a text in a header.
const maxHeaderText = 1024

// printable escapes what may not stand in a header: quotes stay, controls and characters beyond ASCII become \u sequences.
func printable(text string) string {
	quoted := strconv.QuoteToASCII(text)
	text = strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	return text[:min(len(text), maxHeaderText)]
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
