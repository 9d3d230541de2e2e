package rpc

import (
	"errors"
	"fmt"
	"time"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/router"
	"github.com/millstream/millstream/internal/sqlplan"
)

// problem is a fault in a head.
type problem struct {
	Kind    fault.Kind    `json:"kind"`
	Message string        `json:"message"`
	Cause   string        `json:"cause,omitempty"` // for the log
	Wait    time.Duration `json:"wait,omitempty"`
	Reason  string        `json:"reason,omitempty"` // fault.Reason
	Code    int           `json:"code,omitempty"`   // sqlplan.CodeOf
	// Refused says that nothing of the batch is or will be stored, or that the statement was not begun.
	Refused bool `json:"refused,omitempty"`
	// Busy says that the statement was not begun because too many run.
	Busy bool `json:"busy,omitempty"`
}

// newProblem returns what the other side is told of err, nil for none.
func newProblem(err error) *problem {
	if err == nil {
		return nil
	}
	return &problem{
		Kind: fault.KindOf(err), Message: fault.Message(err), Cause: err.Error(), Wait: fault.RetryAfter(err), Code: sqlplan.CodeOf(err),
		Reason: fault.Reason(err), Busy: errors.Is(err, router.ErrBusy),
	}
}

// err returns the fault as this side handles it.
func (p *problem) err() error {
	if p == nil {
		return nil
	}
	kind := p.Kind
	if kind > fault.Corrupt {
		kind = fault.Internal // of a newer version
	}
	cause := error(remoteError(p.Cause))
	if p.Busy {
		cause = fmt.Errorf("%w: %w", router.ErrBusy, cause)
	}
	err := fault.Wrap(kind, cause, "%s", p.Message)
	err.RetryAfter, err.Reason = p.Wait, p.Reason
	if p.Code != 0 {
		return sqlplan.WithCode(err, p.Code)
	}
	return err
}

// remoteError is the log text of an error on another node.
type remoteError string

func (e remoteError) Error() string { return "on the other node: " + string(e) }
