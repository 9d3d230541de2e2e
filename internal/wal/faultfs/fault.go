package faultfs

import (
	"path"
	"time"
)

// Op is a kind of file system operation.
type Op string

// The operations faults can be placed on.
const (
	OpCreate   Op = "create"
	OpOpen     Op = "open"
	OpReadDir  Op = "readdir"
	OpMkdir    Op = "mkdir"
	OpRemove   Op = "remove"
	OpRename   Op = "rename"
	OpSyncDir  Op = "syncdir"
	OpRead     Op = "read"
	OpWrite    Op = "write"
	OpSync     Op = "sync"
	OpTruncate Op = "truncate"
)

// Fault makes matching operations fail, short or slow.
type Fault struct {
	Op Op
	// Glob matches the last element of the name (path.Match); empty matches all. For a rename it is the old name.
	Glob string
	// After lets that many matches pass first; Times is how many fail then, 0 for all.
	After, Times int
	// Err is returned; nil only delays.
	Err error
	// Short is how many bytes a failing write leaves written; a failing Sync, Truncate or directory operation changes nothing.
	Short int
	// Delay is slept before the operation, and Hold, if not nil, is waited for until it is closed.
	Delay time.Duration
	Hold  <-chan struct{}
	// Hit, if not nil, is called for every match that is not let pass, before Hold is waited for.
	Hit func()

	seen int
}

// Inject adds f and returns a function that takes it away.
func (f *FS) Inject(fault Fault) (remove func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := &fault
	f.mu.faults = append(f.mu.faults, p)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for i, q := range f.mu.faults {
			if q == p {
				f.mu.faults = append(f.mu.faults[:i:i], f.mu.faults[i+1:]...)
				return
			}
		}
	}
}

// Heal takes all faults away.
func (f *FS) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.faults = nil
}

// check applies the faults to one operation and returns the error and how many bytes a write may still leave.
func (f *FS) check(op Op, name string) (short int, err error) {
	f.mu.Lock()
	var hits []*Fault
	for _, q := range f.mu.faults {
		if q.Op != op {
			continue
		}
		if ok, _ := path.Match(q.Glob, path.Base(name)); !ok && q.Glob != "" {
			continue
		}
		q.seen++
		if q.seen > q.After && (q.Times == 0 || q.seen <= q.After+q.Times) {
			hits = append(hits, q)
		}
	}
	f.mu.Unlock()
	for _, q := range hits {
		if q.Hit != nil {
			q.Hit()
		}
		if q.Delay > 0 {
			time.Sleep(q.Delay)
		}
		if q.Hold != nil {
			<-q.Hold
		}
		if q.Err != nil {
			return q.Short, q.Err
		}
	}
	return 0, nil
}
