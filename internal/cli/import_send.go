package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// sent is what the server says of a request of JSON rows.
type sent struct {
	Accepted int64 `json:"accepted"`
	Rejected int64 `json:"rejected"`
	Errors   []struct {
		Index  int    `json:"index"`
		Reason string `json:"reason"`
	} `json:"errors"`
}

// errStored ends the repetition of a request that was carried out although no answer came.
var errStored = errors.New("stored already")

// lateAnswer is how long a server may still be busy with a request whose connection is gone.
const lateAnswer = 3 * time.Second

// send brings a batch to the server: every row of it is stored once or refused when it returns nil. A pending batch is the same one
// as noted by an earlier run, which may have sent it.
func (r *importRun) send(ctx context.Context, b *batch, pending *pendingBatch) error {
	if b.rows() == 0 {
		return nil
	}
	unsure := pending != nil
	retry := newRetrier(r.options.retryFor, r.progress.say)
	if pending == nil {
		if err := retry.do(ctx, func() (err error) { pending, err = r.prepare(ctx, b); return err }); err != nil {
			return err
		}
	}
	for b.rows() > 0 {
		before := b.rows()
		err := retry.do(ctx, func() error {
			if unsure {
				if err := r.reconcile(ctx, pending); err != nil {
					return err
				}
			}
			rest, err := r.post(ctx, b)
			b = rest
			unsure = err != nil && lost(err)
			if err != nil && b.rows() < before {
				return retry.pause(ctx, err) // some rows went through: that is progress, so patience starts anew
			}
			return err
		})
		if errors.Is(err, errStored) {
			r.stored += int64(b.rows())
			r.state.Accepted += int64(b.rows())
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// prepare notes on disk that the batch is about to be sent, and how to find out later whether it was.
func (r *importRun) prepare(ctx context.Context, b *batch) (*pendingBatch, error) {
	p := &pendingBatch{End: b.end, Rows: int64(b.rows())}
	if r.store == nil {
		return p, nil
	}
	p.Marker = marker(b, time.Now())
	var err error
	if p.Before, err = r.count(ctx, p.Marker); err != nil {
		return nil, err
	}
	r.state.Pending = p
	return p, r.save()
}

// post sends the rows once and returns those that are not settled.
func (r *importRun) post(ctx context.Context, b *batch) (*batch, error) {
	text, err := r.client.post(ctx, r.stream.path(), b.body, http.Header{"Content-Type": {mediaNDJSON}})
	var reply sent
	var api *apiError
	switch {
	case err == nil:
		if err := json.Unmarshal(text, &reply); err != nil {
			return b, fmt.Errorf("understand the answer: %w", err)
		}
	case errors.As(err, &api) && api.Status == http.StatusBadRequest && json.Unmarshal(text, &reply) == nil && reply.Rejected > 0:
		// Every row was refused.
	case errors.As(err, &api) && api.Settled > 0:
		return r.settle(b, api), err
	default:
		return b, err
	}
	r.stored += reply.Accepted
	r.state.Accepted += reply.Accepted
	for _, e := range reply.Errors {
		if e.Index < b.rows() {
			r.reject(refusedLine{b.lines[e.Index], withoutPlace(e.Reason)})
		}
	}
	r.state.Rejected += max(reply.Rejected-int64(len(reply.Errors)), 0) // the server lists only the first
	return b.from(b.rows()), nil
}

// settle notes that the first rows of the batch are stored or refused, and returns the others.
func (r *importRun) settle(b *batch, e *apiError) *batch {
	n := min(e.Settled, b.rows())
	accepted := int64(min(e.Accepted, n))
	r.stored += accepted
	r.state.Accepted += accepted
	r.state.Rejected += int64(n) - accepted
	r.state.Offset, r.state.Line = b.ends[n-1], b.lines[n-1]
	return b.from(n)
}

// place is how the server names a row of a request.
var place = regexp.MustCompile(`^line \d+(: | )`)

func withoutPlace(reason string) string { return place.ReplaceAllString(reason, "") }

// reconcile finds out what became of a batch whose answer is missing: errStored if it is stored, nil if not. It gives a server
// that may still be busy with it some time.
func (r *importRun) reconcile(ctx context.Context, p *pendingBatch) error {
	if p.Marker == "" {
		r.progress.say("%s: it is unknown whether the last %s were stored; they are sent again", r.name, plural(p.Rows, "row"))
		return nil
	}
	const again = 250 * time.Millisecond
	for deadline := time.Now().Add(lateAnswer); ; {
		n, err := r.count(ctx, p.Marker)
		switch {
		case err != nil:
			return err
		case n > p.Before:
			return errStored
		case time.Now().After(deadline):
			return nil
		}
		if err := sleep(ctx, again); err != nil {
			return err
		}
	}
}

// count returns how many rows of the stream fulfill the condition. A stream or column that does not exist has none.
func (r *importRun) count(ctx context.Context, condition string) (int64, error) {
	if condition == "" {
		return 0, nil
	}
	statement := "SELECT count(*) AS __rows FROM " + r.stream.sql() + " WHERE " + condition
	res, err := r.client.query(ctx, queryRequest{Statement: statement}, mediaNDJSON)
	var api *apiError
	if errors.As(err, &api) && (api.Status == http.StatusNotFound || strings.Contains(api.Message, "unknown column")) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	var row struct {
		N int64 `json:"__rows"`
	}
	_, err = readLines(res.Body, func(line []byte) error { return json.Unmarshal(line, &row) })
	return row.N, err
}
