package sqlplan

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/millstream/millstream/internal/fault"
)

// Codes of GreptimeDB that answers to database statements carry beside their status.
const (
	CodeInvalidArguments = 1004
	CodeInvalidSyntax    = 2000
	CodeDatabaseNotFound = 4004
	CodeDatabaseExists   = 4011
)

// CodedError is an error with a code of GreptimeDB.
type CodedError struct {
	Code int
	Err  error
}

// Error implements error.
func (e *CodedError) Error() string { return e.Err.Error() }

// Unwrap returns the error itself, which has the fault kind.
func (e *CodedError) Unwrap() error { return e.Err }

// StatusCode returns the code: edges show it to clients.
func (e *CodedError) StatusCode() int { return e.Code }

// WithCode attaches a code to err; nil stays nil.
func WithCode(err error, code int) error {
	if err == nil {
		return nil
	}
	return &CodedError{Code: code, Err: err}
}

// CodeOf returns the code in err's chain, or 0.
func CodeOf(err error) int {
	if c, ok := errors.AsType[*CodedError](err); ok {
		return c.Code
	}
	return 0
}

// position returns line and column (in characters) of a byte offset in text, both counted from 1.
func position(text string, offset int) (line, column int) {
	before := text[:min(max(offset, 0), len(text))]
	start := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[start:]) + 1
}

// at returns a fault of kind k whose message begins with the place of offset in text. A negative offset has no place.
func at(k fault.Kind, text string, offset int, format string, args ...any) error {
	msg := fmt.Sprintf(format, args...)
	if offset < 0 {
		return fault.New(k, "%s", msg)
	}
	line, column := position(text, offset)
	return fault.New(k, "line %d, column %d: %s", line, column, msg)
}

// nearestList writes names as `; nearest: "a", "b"`, or nothing.
func nearestList(names []string) string {
	if len(names) == 0 {
		return ""
	}
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = fmt.Sprintf("%q", n)
	}
	return "; nearest: " + strings.Join(quoted, ", ")
}
