package wal

import (
	"context"
	"slices"
)

// ReplayReport says what Replay found.
type ReplayReport struct {
	Segments      int   // files of the log proper
	AsideSegments int   // files copied aside
	Records       int64 // handed to the callback, those it quarantined included
	Bytes         int64 // their payloads
	Duplicates    int64 // records met a second time, after a copy aside, and left out
	Refused       int64 // records of failed groups, never acknowledged, left out
	// Torn are unfinished writes at the end of the log, never acknowledged: cut off by Open, or met behind a damaged header.
	Torn []Damage
	// Damaged are ranges that held records which are lost, copied to quarantine as far as they could be read.
	Damaged []Damage
	// Missing are ranges that the log had written and that are not in the file any more.
	Missing []Damage
	// RecordsQuarantined counts calls of Quarantine from the callback.
	RecordsQuarantined int64
}

// Clean reports whether every acknowledged record was handed over.
func (r ReplayReport) Clean() bool {
	return len(r.Damaged) == 0 && len(r.Missing) == 0 && r.RecordsQuarantined == 0
}

// replayed is the record that the callback of Replay is looking at.
type replayed struct {
	key         Key
	seq         uint64
	quarantined bool
}

// replay is one run of Replay.
type replay struct {
	log      *Log
	fn       func(Record) error
	progress func(done, total int64)
	report   ReplayReport
	last     map[Key]uint64 // greatest Seq handed over
	suspect  map[asideID]bool
	lastLSN  LSN   // of the log proper, handed over or not
	done     int64 // bytes of finished segments
	total    int64
}

// Replay hands every record that earlier processes left to fn: those copied aside first, then the log in order, so that sequence
// numbers ascend for each key. Each record comes once, released ones possibly too (the caller knows what is committed), refused ones never.
// fn owns the payload until it returns; memory is bounded by the largest record. fn may block, flush and call Release: what is
// released goes away while Replay runs. progress, if not nil, is told bytes read of bytes in all.
//
// Damage costs the damaged records alone and is no error. An error of fn or ctx, or one of the file system that is no damage of the
// medium, ends Replay; it may be called again and then begins anew. Once it has returned nil, Enqueue accepts and Replay does
// nothing more. When Open found no segments it need not be called.
func (l *Log) Replay(ctx context.Context, fn func(Record) error, progress func(done, total int64)) (ReplayReport, error) {
	l.moveMu.Lock()
	defer l.moveMu.Unlock()
	l.mu.Lock()
	if l.mu.ready || l.mu.closed {
		defer l.mu.Unlock()
		if l.mu.closed {
			return ReplayReport{}, ErrClosed
		}
		return ReplayReport{}, nil
	}
	r := &replay{log: l, fn: fn, progress: progress, last: map[Key]uint64{}, suspect: map[asideID]bool{}}
	r.report.Torn = slices.Clone(l.mu.torn)
	asides, segments := slices.Clone(l.mu.asides), slices.Clone(l.mu.segments)
	l.resetIndex()
	l.mu.Unlock()
	r.report.Segments, r.report.AsideSegments = len(segments), len(asides)
	for _, s := range slices.Concat(asides, segments) {
		r.total += s.size
	}
	for _, s := range asides {
		if err := r.segment(ctx, s, nil); err != nil {
			return r.report, err
		}
	}
	for i, s := range segments {
		if err := r.segment(ctx, s, segments[i+1:]); err != nil {
			return r.report, err
		}
	}
	l.mu.Lock()
	l.mu.ready = true
	for key := range l.mu.keys {
		l.forget(key)
	}
	l.mu.Unlock()
	l.cleanup()
	return r.report, nil
}

// resetIndex forgets what an unfinished replay has learned. Callers hold mu.
func (l *Log) resetIndex() {
	for _, s := range slices.Concat(l.mu.asides, l.mu.segments) {
		s.spans, s.indexed = map[Key]*span{}, false
	}
	for _, ks := range l.mu.keys {
		ks.spans = 0
	}
}
