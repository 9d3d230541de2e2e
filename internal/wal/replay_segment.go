package wal

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// segmentReplay is the walk over one segment.
type segmentReplay struct {
	*replay
	seg   *segment
	file  File
	voids []lsnRange
	end   int64 // where the bytes end that count
	// next is the first LSN behind the segment, 0 if unknown.
	next LSN
	// held are damages whose BeforeLSN is not known yet.
	held []Damage
}

// segment replays s; newer are the segments after it.
func (r *replay) segment(ctx context.Context, s *segment, newer []*segment) error {
	f, err := r.log.fs.Open(s.path)
	if err != nil {
		return fmt.Errorf("open segment %s for replay: %w", s.path, err)
	}
	sr := &segmentReplay{replay: r, seg: s, file: f, end: s.size}
	for _, n := range newer {
		sr.voids = append(sr.voids, n.header.voids...)
	}
	if len(newer) > 0 && newer[0].headerLen > 0 {
		sr.next = newer[0].header.firstLSN
		if p := newer[0].header; p.prevSeq == s.header.seq {
			sr.checkEnd(p.prevEnd)
		}
	}
	err = sr.walk(ctx)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("replay segment %s: %w", s.path, err)
	}
	r.done += s.size
	r.tell(0)
	r.log.mu.Lock()
	s.indexed = true
	r.log.mu.Unlock()
	r.log.cleanup()
	return nil
}

// checkEnd applies the length that the next segment's header gives for this one. What follows was refused.
func (r *segmentReplay) checkEnd(end int64) {
	if r.seg.size == end {
		return
	}
	if r.seg.size > end {
		r.end = end
		for _, v := range r.voids {
			r.log.carryVoid(v)
		}
		r.log.mu.Lock()
		r.seg.size, r.seg.dirty = end, true
		r.log.mu.Unlock()
		return
	}
	r.report.Missing = append(r.report.Missing, Damage{
		Segment: r.seg.path, Offset: r.seg.size, Bytes: end - r.seg.size, BeforeLSN: r.next, Cause: "the file is shorter than it was",
	})
	r.log.logger.Error("lost the end of a segment", "segment", r.seg.path, "bytes", end-r.seg.size)
}

// walk reads the segment to its end.
func (r *segmentReplay) walk(ctx context.Context) error {
	reader := newSegmentReader(r.file, r.seg.header.mark, r.seg.headerLen, r.end)
	if r.seg.aside != nil {
		r.lastLSN = 0
	}
	for {
		it, err := reader.next()
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		switch it.kind {
		case itemEnd:
			r.flushHeld(r.next)
			return nil
		case itemRecord:
			r.flushHeld(it.header.lsn)
			r.lastLSN = it.header.lsn
			if err := r.record(it); err != nil {
				return err
			}
			r.tell(it.offset)
		case itemDamage, itemTail:
			r.damage(it)
		}
	}
}

// record hands one record over.
func (r *segmentReplay) record(it item) error {
	key, seq := it.header.key, it.header.seq
	for _, v := range r.voids {
		if v.contains(it.header.lsn) {
			r.refused(v)
			return nil
		}
	}
	rec := Record{Key: key, Seq: seq, Payload: it.payload()}
	if seq <= r.last[key] {
		if r.seg.aside == nil && r.suspect[asideID{key.Dataset, key.Epoch}] {
			return r.log.Quarantine(rec, errors.New("it may be the good copy of a damaged record aside, but comes out of order"))
		}
		r.report.Duplicates++
		return nil
	}
	current := &replayed{key: key, seq: seq}
	r.log.setReplaying(current)
	err := r.fn(rec)
	r.log.setReplaying(nil)
	if err != nil {
		return fmt.Errorf("record %d of %s: %w", seq, key, err)
	}
	r.last[key] = seq
	r.report.Records++
	r.report.Bytes += int64(len(rec.Payload))
	if current.quarantined {
		r.report.RecordsQuarantined++
		return nil
	}
	r.log.index(r.seg, it)
	return nil
}

// refused notes that the segment holds records of a failed group, which later segments have to name as long as it lives.
func (r *segmentReplay) refused(v lsnRange) {
	r.report.Refused++
	r.log.carryVoid(v)
	r.log.mu.Lock()
	r.seg.dirty = true
	r.log.mu.Unlock()
}

// carryVoid adds v to what new segment headers name.
func (l *Log) carryVoid(v lsnRange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.mu.voids, v) {
		l.mu.voids = append(l.mu.voids, v)
	}
}

// damage notes a range without a valid record. The end of a segment that nothing vouches for counts as damaged, too.
func (r *segmentReplay) damage(it item) {
	d := damageOf(r.seg, it)
	d.AfterLSN = r.lastLSN
	if r.seg.headerLen == 0 && it.offset == 0 {
		d.Cause = "the segment header is damaged"
	}
	if it.known {
		r.flushHeld(it.header.lsn)
		r.lastLSN = it.header.lsn
	}
	if r.seg.aside != nil {
		r.suspect[*r.seg.aside] = true
	}
	r.held = append(r.held, d)
}

// flushHeld reports the damages before lsn.
func (r *segmentReplay) flushHeld(lsn LSN) {
	for _, d := range r.held {
		d.BeforeLSN = lsn
		if err := r.log.quarantineDamage(r.seg, r.file, &d); err != nil {
			r.log.pin(r.seg)
			r.log.logger.Error("kept a damaged segment, its damage could not be copied", "segment", d.Segment, "error", err)
		}
		if !d.Again {
			r.log.logger.Error("lost damaged bytes of the log", "segment", d.Segment, "offset", d.Offset, "bytes", d.Bytes, "report", d.Report)
		}
		r.report.Damaged = append(r.report.Damaged, d)
	}
	r.held = r.held[:0]
}

// tell reports progress with at bytes of the current segment done.
func (r *replay) tell(at int64) {
	if r.progress != nil {
		r.progress(r.done+at, r.total)
	}
}

func (l *Log) setReplaying(r *replayed) {
	l.mu.Lock()
	l.mu.replaying = r
	l.mu.Unlock()
}

// pin keeps the file of s for good.
func (l *Log) pin(s *segment) {
	l.mu.Lock()
	s.pins++
	l.mu.Unlock()
}

// index notes that s holds the record it, unless that is released already.
func (l *Log) index(s *segment, it item) {
	key, seq := it.header.key, it.header.seq
	l.mu.Lock()
	defer l.mu.Unlock()
	ks := l.keyOf(key)
	ks.enqueued, ks.durable = max(ks.enqueued, seq), max(ks.durable, seq)
	if s.aside != nil {
		ks.aside = max(ks.aside, seq)
	}
	if seq <= ks.released {
		return
	}
	if s.add(key, seq, s.header.created, it.offset) {
		ks.spans++
	}
}
