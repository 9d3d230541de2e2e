package wal

import (
	"errors"
	"fmt"
	"path"
	"time"
)

// run is the committer: it writes groups in order until the log is closed and nothing is pending.
func (l *Log) run() {
	defer close(l.done)
	for {
		g, wait, ended := l.nextGroup()
		switch {
		case g != nil:
			l.commit(g)
			continue
		case ended:
			return
		}
		var timer <-chan time.Time
		if wait > 0 {
			timer = l.clock.After(wait)
		}
		select {
		case <-l.kick:
		case <-timer:
		}
		l.maintain()
	}
}

// nextGroup takes the oldest group if it is due. Otherwise it says how long to wait (0: until woken) or that the log has ended.
func (l *Log) nextGroup() (g *group, wait time.Duration, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.mu.groups) == 0 {
		if l.lacksRoom() {
			wait = l.opts.RetryInterval
		}
		return nil, wait, l.mu.closed
	}
	g = l.mu.groups[0]
	if !g.closed && !l.mu.closed {
		if wait = l.delay(g); wait > 0 {
			return nil, wait, false
		}
	}
	g.closed = true
	return g, 0, false
}

// delay returns how long the open group g is still held back for company. A log that is idle, or has one writer (the group before
// held one record), writes at once: waiting would only add latency. Under load groups begin BatchMaxDelay apart, which bounds the
// fsyncs a second; no record is held longer than that, and nothing has to arrive for the timer to fire.
func (l *Log) delay(g *group) time.Duration {
	c := &l.committer
	if c.lastGroup <= 1 {
		return 0
	}
	due := c.lastStart.Add(l.opts.BatchMaxDelay)
	if latest := g.since.Add(l.opts.BatchMaxDelay); due.After(latest) {
		due = latest
	}
	return due.Sub(l.clock.Now())
}

// commit writes g and settles it, or fails it with everything behind it.
func (l *Log) commit(g *group) {
	l.committer.lastStart, l.committer.lastGroup = l.clock.Now(), len(g.entries)
	base, err := l.write(g)
	if err != nil {
		l.fail(g, err)
		return
	}
	l.settle(g, base)
}

// write puts g into the active segment and returns the offset of its first byte.
func (l *Log) write(g *group) (int64, error) {
	c := &l.committer
	if c.active != nil && c.active.size > c.active.headerLen && c.active.size+int64(len(g.buf)) > l.opts.SegmentSize {
		l.seal()
	}
	created := c.active == nil
	if created {
		if err := l.createSegment(g.first); err != nil {
			l.countError(opCreate)
			return 0, err
		}
	}
	base := c.active.size
	for _, e := range g.entries {
		remark(g.buf[e.offset:], c.active.header.mark)
	}
	if _, err := c.file.WriteAt(g.buf, base); err != nil {
		l.countError(opWrite)
		if cut := c.file.Truncate(base); cut != nil || created {
			l.abandon()
		}
		return 0, fmt.Errorf("write group to %s: %w", l.opts.Dir, err)
	}
	if err := l.sync(created); err != nil {
		l.countError(opSync)
		if cut := c.file.Truncate(base); cut != nil {
			l.logger.Warn("left refused records in the log; the next segment names them", "segment", c.active.path, "error", cut)
		}
		l.abandon()
		return 0, fmt.Errorf("sync group in %s: %w", l.opts.Dir, err)
	}
	return base, nil
}

// sync makes the written group durable, and the file's name if it is new.
func (l *Log) sync(created bool) error {
	if l.opts.Sync == SyncNone {
		return nil
	}
	start := time.Now() // a measurement, not a decision
	err := l.committer.file.Sync()
	l.metrics.fsync.Observe(time.Since(start).Seconds())
	if err == nil && created {
		err = l.fs.SyncDir(l.opts.Dir)
	}
	return err
}

// createSegment makes the file of the next segment and writes its header; it becomes durable with the first group.
func (l *Log) createSegment(first LSN) error {
	l.mu.Lock()
	h := segmentHeader{
		seq: l.mu.nextFile, mark: newMark(), node: l.opts.Node, epoch: l.opts.Epoch, created: l.clock.Now(), firstLSN: first,
		voids: append([]lsnRange(nil), l.mu.voids...),
	}
	l.mu.nextFile++
	if n := len(l.mu.segments); n > 0 {
		h.prevSeq, h.prevEnd = l.mu.segments[n-1].header.seq, l.mu.segments[n-1].durableEnd()
	}
	l.mu.Unlock()
	if len(h.voids) > maxVoids {
		return errors.New("too many refused groups in segments that are still needed")
	}
	name := path.Join(l.opts.Dir, segmentName(h.seq, h.mark))
	f, err := l.fs.Create(name)
	if err != nil {
		return fmt.Errorf("create segment: %w", err)
	}
	b := h.encode()
	s := &segment{path: name, header: h, headerLen: int64(len(b)), size: int64(len(b)), spans: map[Key]*span{}, indexed: true}
	l.committer.active, l.committer.file = s, f
	l.mu.Lock()
	l.mu.segments = append(l.mu.segments, s)
	l.updateGauges()
	l.mu.Unlock()
	if _, err := f.WriteAt(b, 0); err != nil {
		l.abandon()
		return fmt.Errorf("write header of segment %s: %w", name, err)
	}
	return nil
}

// seal ends the active segment in good order.
func (l *Log) seal() {
	c := &l.committer
	if err := c.file.Close(); err != nil { // all of it is synced
		l.logger.Warn("closed a segment with an error", "segment", c.active.path, "error", err)
	}
	l.mu.Lock()
	c.active.sealed = true
	l.mu.Unlock()
	c.active, c.file = nil, nil
	l.cleanup()
}

// abandon ends the active segment after a failure that leaves its unsynced end unknown. fail names the LSNs in voids.
func (l *Log) abandon() {
	c := &l.committer
	l.mu.Lock()
	c.active.dirty = true
	l.mu.Unlock()
	l.seal()
}

// settle makes g visible and wakes its waiters.
func (l *Log) settle(g *group, base int64) {
	now := l.clock.Now()
	l.mu.Lock()
	s := l.committer.active
	for _, e := range g.entries {
		ks := l.mu.keys[e.key]
		ks.pending--
		ks.durable = e.seq
		if s.add(e.key, e.seq, now, base+int64(e.offset)) {
			ks.spans++
		}
	}
	s.size = base + int64(len(g.buf))
	l.mu.totals.groups++
	l.mu.totals.records += uint64(len(g.entries))
	l.mu.totals.bytes += uint64(len(g.buf))
	l.updateGauges()
	l.mu.Unlock()
	l.metrics.bytesWritten.Add(float64(len(g.buf)))
	l.metrics.groupRecords.Observe(float64(len(g.entries)))
	l.durable.Store(uint64(g.last))
	l.onGroup(g.first, g.last, nil)
	l.mu.Lock()
	l.mu.groups = l.mu.groups[1:] // from here on Wait does not look at g
	l.mu.Unlock()
	close(g.done)
	l.recycle(g)
}

// fail refuses g and all groups behind it, whose sequence numbers follow on its own.
func (l *Log) fail(g *group, cause error) {
	err := groupError(cause)
	l.mu.Lock()
	l.mu.failing = true
	l.mu.full = l.mu.full || isFull(cause)
	groups := l.mu.groups
	for _, g := range groups {
		for _, e := range g.entries {
			ks := l.mu.keys[e.key]
			ks.pending--
			ks.enqueued = max(ks.durable, ks.released, ks.aside)
			l.forget(e.key)
		}
	}
	lost := lsnRange{g.first, groups[len(groups)-1].last}
	l.addFailure(lost, err)
	full := l.mu.full
	l.mu.Unlock()
	l.logger.Error("refused records that the log could not keep",
		"first_lsn", uint64(lost.first), "last_lsn", uint64(lost.last), "disk_full", full, "error", cause)
	if full {
		l.dropReserve()
	}
	l.onGroup(lost.first, lost.last, err)
	l.durable.Store(uint64(lost.last))
	l.mu.Lock()
	l.mu.failing = false
	l.mu.groups = nil
	l.mu.Unlock()
	for _, g := range groups {
		g.err = err
		close(g.done)
		l.recycle(g)
	}
}

// addFailure remembers that lost was refused, and names it to the next segments while an older one may hold some of it. Callers
// hold mu.
func (l *Log) addFailure(lost lsnRange, err error) {
	if n := len(l.mu.failures); n > 0 && l.mu.failures[n-1].last+1 == lost.first {
		l.mu.failures[n-1].last, l.mu.failures[n-1].err = lost.last, err
	} else {
		l.mu.failures = append(l.mu.failures, failedRange{lost, err})
	}
	if !l.anyDirty() {
		return
	}
	if n := len(l.mu.voids); n > 0 && l.mu.voids[n-1].last+1 == lost.first {
		l.mu.voids[n-1].last = lost.last
	} else {
		l.mu.voids = append(l.mu.voids, lost)
	}
}

// recycle gives back the room of a settled group and keeps its buffer for the next one.
func (l *Log) recycle(g *group) {
	l.room.Release(int64(len(g.buf)))
	if cap(g.buf) > l.opts.GroupMaxBytes*2 {
		return
	}
	l.mu.Lock()
	if l.mu.spare == nil {
		l.mu.spare = g.buf[:0]
	}
	l.mu.Unlock()
}

func (l *Log) countError(op string) { l.metrics.writeErrors.WithLabelValues(op).Inc() }
