package frontend

import (
	"context"
	"net/http"

	"github.com/millstream/millstream/internal/fairqueue"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/promapi"
)

// answerInParts answers a range query from parts of its steps. done is false when it is to be answered as a whole.
func (f *Frontend) answerInParts(ctx context.Context, ask fairqueue.Ask, q promapi.Question) (a promapi.Answer, done bool) {
	l := f.deps.Limits(q.Org)
	// What bounds the whole range or all that it reads cannot be seen by a part.
	if l.SplitQueriesByInterval <= 0 || len(q.Members()) > 1 || l.MaxQueryLength > 0 || l.MaxQueryBytesRead > 0 {
		return a, false
	}
	parts := promapi.SplitRange(q, l.SplitQueriesByInterval)
	if parts == nil {
		if q.Path == "query_range" {
			f.metrics.split.WithLabelValues(promapi.Language, "whole").Inc()
		}
		return a, false
	}
	f.metrics.split.WithLabelValues(promapi.Language, "parts").Inc()
	return promapi.JoinRange(f.evaluateAll(ctx, ask, parts, max(l.MaxQueryParallelism, 1))), true
}

// evaluateAll answers questions, several at once, and returns their answers in order up to the first that failed.
func (f *Frontend) evaluateAll(ctx context.Context, ask fairqueue.Ask, parts []promapi.Question, most int) []promapi.Answer {
	ctx, cancel := context.WithCancel(ctx)
	answers := make([]chan promapi.Answer, len(parts))
	started := 0
	start := func() {
		done := make(chan promapi.Answer, 1)
		answers[started] = done
		part, own := parts[started], ask
		own.Continues = started > 0
		started++
		f.metrics.parts.Inc()
		go func() { done <- f.evaluatePart(ctx, own, part) }()
	}
	for started < min(most, len(parts)) {
		start()
	}
	var out []promapi.Answer
	for i := range answers {
		a := <-answers[i]
		out = append(out, a)
		if a.Status != http.StatusOK {
			break
		}
		if started < len(parts) {
			start()
		}
	}
	cancel()
	for i := len(out); i < started; i++ {
		<-answers[i] // no part outlives its query
	}
	return out
}

// evaluatePart is evaluate, in a goroutine of its own.
func (f *Frontend) evaluatePart(ctx context.Context, ask fairqueue.Ask, q promapi.Question) (a promapi.Answer) {
	defer func() {
		if v := recover(); v != nil {
			a = promapi.Failure(fault.New(fault.Internal, "panic in a part of a query: %v", v))
		}
	}()
	return f.evaluate(ctx, ask, q)
}
