package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// reserveFraction is the part of the file system that the reserve takes at most: one in so many bytes.
const reserveFraction = 16

func (l *Log) reservePath() string { return path.Join(l.opts.Dir, reserveName) }

// needsReserve reports whether a reserve is wanted.
func (l *Log) needsReserve() bool { return l.opts.ReserveSize > 0 }

// openReserve makes the reserve at start; without room for it the log starts full.
func (l *Log) openReserve() {
	if !l.needsReserve() {
		return
	}
	if size, _, err := l.fs.Space(l.opts.Dir); err == nil {
		l.opts.ReserveSize = max(1, min(l.opts.ReserveSize, size/reserveFraction))
	}
	if err := l.takeReserve(); err != nil {
		l.mu.full = isFull(err)
		l.committer.nextLook = l.clock.Now().Add(l.opts.RetryInterval)
		l.logger.Warn("started without the disk reserve of the log", "bytes", l.opts.ReserveSize, "refusing", l.mu.full, "error", err)
	}
}

// takeReserve allocates the reserve file with real blocks, or leaves none.
func (l *Log) takeReserve() error {
	name := l.reservePath()
	f, err := l.fs.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = l.fs.Create(name)
	}
	if err != nil {
		return fmt.Errorf("open disk reserve: %w", err)
	}
	if err = errors.Join(fill(f, l.opts.ReserveSize), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("allocate disk reserve: %w", err), l.fs.Remove(name))
	}
	l.committer.hasReserve = true
	return nil
}

// fill extends f with zeros to size bytes and syncs it. Blocks that are there already are kept.
func fill(f File, size int64) error {
	at, err := f.Size()
	if err != nil {
		return err
	}
	if at > size {
		return errors.Join(f.Truncate(size), f.Sync())
	}
	zeros := make([]byte, min(size, 64<<10))
	for at < size {
		n, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at)
		if err != nil {
			return err
		}
		at += int64(n)
	}
	return f.Sync()
}

// dropReserve gives the reserve back to the file system.
func (l *Log) dropReserve() {
	l.committer.hasReserve = false
	l.committer.nextLook = l.clock.Now().Add(l.opts.RetryInterval)
	if !l.needsReserve() {
		return
	}
	if err := l.fs.Remove(l.reservePath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.logger.Warn("kept the disk reserve of the log", "error", err)
	}
}

// maintain is the committer's work between groups: looking again at a full disk and closing an idle segment that nobody needs.
func (l *Log) maintain() {
	l.mu.Lock()
	closed, idle := l.mu.closed, l.idleActive() != nil
	look := !closed && l.lacksRoom()
	if look && !l.mu.freed && l.clock.Now().Before(l.committer.nextLook) {
		look = false
	}
	l.mu.freed = l.mu.freed && !look
	l.mu.Unlock()
	if idle && !closed {
		l.seal()
	}
	if look {
		l.lookForRoom()
	}
}

// lacksRoom reports whether the log refuses for lack of room or is without its reserve. Callers hold mu.
func (l *Log) lacksRoom() bool {
	return l.mu.full || l.needsReserve() && !l.committer.hasReserve
}

// lookForRoom tries to allocate the reserve again and ends the refusal when that works. As much again has to stay free: the room that
// the reserve itself has left belongs to those who free space. Without a reserve the next group is the test.
func (l *Log) lookForRoom() {
	l.committer.nextLook = l.clock.Now().Add(l.opts.RetryInterval)
	if l.needsReserve() {
		if _, free, err := l.fs.Space(l.opts.Dir); err == nil && free < 2*l.opts.ReserveSize {
			return
		}
		if err := l.takeReserve(); err != nil {
			l.logger.Debug("no room yet for the disk reserve of the log", "error", err)
			return
		}
	}
	l.mu.Lock()
	full := l.mu.full
	l.mu.full = false
	l.mu.Unlock()
	if full {
		l.logger.Info("the log has room again and accepts records")
	}
}
