package wal

import (
	"errors"
	"io/fs"
	"path"
	"slices"
)

// Release says that the catalog holds all rows of key up to and including upTo. Segments whose records are all released, or copied
// aside, are deleted before it returns; a file that cannot be deleted is tried again by later calls. The active segment is closed and
// deleted too once it is idle and all of it is released. Release of what is released, or of a key that has no records, does nothing. It may
// be called while Replay runs.
func (l *Log) Release(key Key, upTo uint64) {
	l.mu.Lock()
	ks := l.mu.keys[key]
	if ks == nil {
		if l.mu.ready {
			l.mu.Unlock()
			return
		}
		ks = l.keyOf(key)
	}
	ks.released = max(ks.released, upTo)
	l.trim(key, ks)
	idle := l.mu.ready && l.idleActive() != nil
	l.mu.Unlock()
	if idle {
		l.wake()
	}
	l.cleanup()
}

// trim takes what is released or aside of key out of the segments. Callers hold mu.
func (l *Log) trim(key Key, ks *keyState) {
	for _, s := range l.mu.segments {
		if s.release(key, max(ks.released, ks.aside)) {
			ks.spans--
		}
	}
	for _, s := range l.mu.asides {
		if s.release(key, ks.released) {
			ks.spans--
		}
	}
	l.forget(key)
}

// forget drops the state of a key that has nothing in the log. Callers hold mu.
func (l *Log) forget(key Key) {
	if ks := l.mu.keys[key]; l.mu.ready && ks != nil && ks.spans == 0 && ks.pending == 0 {
		delete(l.mu.keys, key)
	}
}

// idleActive returns the segment that is being written if it holds records, all of them released, and none are pending. Callers hold mu.
func (l *Log) idleActive() *segment {
	n := len(l.mu.segments)
	if n == 0 || len(l.mu.groups) > 0 {
		return nil
	}
	s := l.mu.segments[n-1]
	if s.sealed || len(s.spans) > 0 || s.size <= s.headerLen {
		return nil
	}
	return s
}

// deletable returns the files that nothing needs and marks them as being deleted. Callers hold mu.
func (l *Log) deletable() []*segment {
	var list []*segment
	dirty := l.anyDirty()
	named := false // a newer durable header names the refused LSNs
	for _, s := range slices.Backward(l.mu.segments) {
		names := len(s.header.voids) > 0
		if s.free() && (!dirty || !names || named) {
			s.deleting = true
			list = append(list, s)
			continue
		}
		named = named || names && s.size > s.headerLen
	}
	for _, s := range l.mu.asides {
		if s.free() {
			s.deleting = true
			list = append(list, s)
		}
	}
	return list
}

// free reports whether nothing needs the file of s itself.
func (s *segment) free() bool {
	return s.sealed && s.indexed && len(s.spans) == 0 && s.pins == 0 && !s.deleting
}

// anyDirty reports whether a segment may hold refused records. Callers hold mu.
func (l *Log) anyDirty() bool {
	return slices.ContainsFunc(l.mu.segments, func(s *segment) bool { return s.dirty })
}

// cleanup deletes files that nothing needs, until there are none. One that resists is left for the next call.
func (l *Log) cleanup() {
	for {
		l.mu.Lock()
		list := l.deletable()
		l.mu.Unlock()
		if len(list) == 0 || !l.remove(list) {
			return
		}
	}
}

// remove deletes files and takes them out of the lists. It reports whether all went well.
func (l *Log) remove(list []*segment) bool {
	gone := map[*segment]bool{}
	dirs := map[string]bool{}
	var errs []error
	for _, s := range list {
		if err := l.fs.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
			continue
		}
		gone[s] = true
		dirs[path.Dir(s.path)] = true
	}
	for dir := range dirs {
		if err := l.fs.SyncDir(dir); err != nil { // then the files are removed once more
			errs = append(errs, err)
			for s := range gone {
				if path.Dir(s.path) == dir {
					delete(gone, s)
				}
			}
		}
	}
	l.mu.Lock()
	for _, s := range list {
		s.deleting = gone[s]
	}
	isGone := func(s *segment) bool { return gone[s] }
	l.mu.segments = slices.DeleteFunc(l.mu.segments, isGone)
	l.mu.asides = slices.DeleteFunc(l.mu.asides, isGone)
	if !l.anyDirty() {
		l.mu.voids = nil
	}
	full := l.mu.full
	l.mu.freed = l.mu.freed || full
	l.updateGauges()
	l.mu.Unlock()
	for dir := range dirs {
		if dir != l.opts.Dir {
			l.removeEmptyAside(dir)
		}
	}
	if err := errors.Join(errs...); err != nil {
		l.countError(opRemove)
		l.logger.Warn("left released segments for a later try", "error", err)
		return false
	}
	if full {
		l.wake()
	}
	return true
}
