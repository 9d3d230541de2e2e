package wal

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/millstream/millstream/internal/clock"
)

// Names inside Options.Dir.
const (
	lockName      = "LOCK"
	reserveName   = "reserve"
	asideName     = "aside"
	quarantineDir = "quarantine"
)

// Log is an open write-ahead log. Its methods are safe for concurrent use.
type Log struct {
	opts       Options
	fs         FS
	clock      clock.Clock
	logger     *slog.Logger
	onGroup    func(first, last LSN, err error)
	metrics    *metrics
	lock       io.Closer
	registerer prometheus.Registerer // nil if the metrics are not registered
	room       *semaphore.Weighted   // bytes of MaxPendingBytes
	kick       chan struct{}         // wakes the committer; capacity 1
	done       chan struct{}         // closed when the committer has ended
	durable    atomic.Uint64
	moveMu     sync.Mutex // serialises Replay and MoveAside

	// committer holds what only the committer touches once it runs.
	committer struct {
		active     *segment
		file       File
		lastStart  time.Time // when the last group began to be written
		lastGroup  int       // records in it
		hasReserve bool
		nextLook   time.Time // when to look for room again
	}

	mu struct {
		sync.Mutex
		closed    bool
		ready     bool // nothing is left to replay
		full      bool
		freed     bool // files were deleted while full: look for room at once
		failing   bool // a failure is being told to OnGroup
		nextLSN   LSN
		nextFile  uint64
		groups    []*group // oldest first; the first may be on its way to disk, the last may be open
		spare     []byte   // buffer for the next group
		segments  []*segment
		asides    []*segment
		keys      map[Key]*keyState
		voids     []lsnRange
		failures  []failedRange
		torn      []Damage  // found by Open, told by Replay
		replaying *replayed // the record that the callback of Replay has
		totals    totals
	}
}

// totals are counts since Open.
type totals struct{ groups, records, bytes uint64 }

// keyState is what is known of a key that has records in the log or on their way to it.
type keyState struct {
	enqueued uint64 // greatest Seq given to Enqueue
	durable  uint64 // greatest Seq on disk
	released uint64 // all Seq up to it are released
	aside    uint64 // records up to it need their copies in the segments no longer
	spans    int    // segments that hold unreleased records
	pending  int    // records in groups
}

// failedRange are LSNs that did not become durable, and why.
type failedRange struct {
	lsnRange
	err error
}

// Open locks the directory, makes it if needed, lists the segments, cuts an unfinished tail off the last one and starts the
// committer goroutine, which Close ends. It reads headers and the last segment only. Records in the directory, of whatever node,
// are handed out by Replay. A full disk is no error: the log then refuses with ErrFull until there is room.
func Open(opts Options, deps Deps) (*Log, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	deps = deps.withDefaults()
	opts = opts.withDefaults()
	l := &Log{
		opts: opts, fs: deps.FS, clock: deps.Clock, logger: deps.Logger, onGroup: deps.OnGroup,
		room: semaphore.NewWeighted(opts.MaxPendingBytes), kick: make(chan struct{}, 1), done: make(chan struct{}),
	}
	l.mu.keys = map[Key]*keyState{}
	l.mu.nextLSN, l.mu.nextFile = 1, 1
	if err := l.fs.MkdirAll(opts.Dir); err != nil {
		return nil, fmt.Errorf("make log directory: %w", err)
	}
	if err := l.fs.SyncDir(path.Dir(opts.Dir)); err != nil {
		return nil, fmt.Errorf("sync parent of log directory: %w", err)
	}
	l.metrics, l.registerer = newMetrics(), deps.Registerer
	lock, err := l.fs.Lock(path.Join(opts.Dir, lockName))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLocked, err)
	}
	l.lock = lock
	if err = l.load(); err == nil && l.registerer != nil {
		err = l.metrics.register(l.registerer)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	l.metrics.torn.Add(float64(len(l.mu.torn)))
	l.openReserve()
	l.mu.Lock()
	l.updateGauges()
	l.mu.Unlock()
	go l.run()
	return l, nil
}

// load finds the files of earlier processes and repairs the tail.
func (l *Log) load() error {
	segments, err := l.listSegments(l.opts.Dir)
	if err != nil {
		return err
	}
	asides, err := l.listAsides()
	if err != nil {
		return err
	}
	l.mu.segments, l.mu.asides = segments, asides
	for _, s := range segments {
		l.mu.nextFile = max(l.mu.nextFile, s.header.seq+1)
		l.mu.nextLSN = max(l.mu.nextLSN, s.header.firstLSN)
		for _, v := range s.header.voids {
			l.mu.nextLSN = max(l.mu.nextLSN, v.last+1)
		}
	}
	for _, s := range asides {
		l.mu.nextFile = max(l.mu.nextFile, s.header.seq+1)
	}
	for _, s := range slices.Backward(segments) {
		last, err := l.repairTail(s)
		if err != nil {
			return err
		}
		l.mu.nextLSN = max(l.mu.nextLSN, last+1)
		if last > 0 {
			break
		}
	}
	l.settleFiles()
	l.mu.ready = len(segments) == 0 && len(asides) == 0
	l.durable.Store(uint64(l.mu.nextLSN - 1))
	return nil
}

// settleFiles syncs what a killed process may have left in the page cache: Replay shows these records, so they must not vanish later.
// Trouble is no reason not to start; the records were not acknowledged.
func (l *Log) settleFiles() {
	var errs []error
	for _, s := range l.mu.segments {
		f, err := l.fs.Open(s.path)
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		errs = append(errs, err)
	}
	errs = append(errs, l.fs.SyncDir(l.opts.Dir))
	if err := errors.Join(errs...); err != nil {
		l.logger.Warn("could not sync what an earlier process has written", "error", err)
	}
}

// listSegments reads the segment files of one directory in order of their numbers. Other files are left alone.
func (l *Log) listSegments(dir string) ([]*segment, error) {
	entries, err := l.fs.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list log directory: %w", err)
	}
	var list []*segment
	for _, e := range entries { // names sort by number
		seq, mark, ok := parseSegmentName(e.Name())
		if !ok || e.IsDir() {
			continue
		}
		s, err := readSegment(l.fs, dir, e.Name(), seq, mark)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// repairTail cuts an unfinished record off the end of s and returns the last LSN in s, 0 if it holds no record.
func (l *Log) repairTail(s *segment) (LSN, error) {
	f, err := l.fs.Open(s.path)
	if err != nil {
		return 0, fmt.Errorf("open segment %s: %w", s.path, err)
	}
	last, tail, err := lastRecord(f, s)
	if err == nil && tail.kind == itemTail {
		d := damageOf(s, tail)
		d.Cause = "unfinished write at the end of the log"
		l.mu.torn = append(l.mu.torn, d)
		l.logger.Warn("cut an unfinished write off the log", "segment", s.path, "offset", tail.offset, "bytes", tail.size)
		if err := errors.Join(f.Truncate(tail.offset), f.Sync()); err != nil {
			// The bytes are harmless: they are recognised again at the next start.
			l.logger.Warn("left the unfinished write in place", "segment", s.path, "error", err)
		}
		s.size = tail.offset
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, fmt.Errorf("read segment %s: %w", s.path, err)
	}
	return last, nil
}

// lastRecord walks s to its end and returns the last LSN and the last item.
func lastRecord(f File, s *segment) (LSN, item, error) {
	if s.headerLen == 0 && s.size < segmentFixedLen {
		if s.size == 0 {
			return 0, item{kind: itemEnd}, nil
		}
		return 0, item{kind: itemTail, size: s.size}, nil
	}
	r := newSegmentReader(f, s.header.mark, s.headerLen, s.size)
	for {
		it, err := r.next()
		if err != nil || it.kind == itemTail || it.kind == itemEnd {
			return r.last, it, err
		}
	}
}

// Durable returns an LSN; everything up to it is on disk, except what Failed reports. LSNs of earlier processes are below it.
func (l *Log) Durable() LSN { return LSN(l.durable.Load()) }

// Failed reports whether lsn was refused after Enqueue had accepted it. It is final once lsn <= Durable().
func (l *Log) Failed(lsn LSN) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failureOf(lsn) != nil
}

// failureOf returns why lsn failed, or nil. Callers hold mu.
func (l *Log) failureOf(lsn LSN) error {
	for _, f := range slices.Backward(l.mu.failures) {
		if f.contains(lsn) {
			return f.err
		}
	}
	return nil
}

// Close refuses new records, writes and syncs what is pending, waits for the committer, unregisters the metrics and gives up the
// directory. Calls of Replay and MoveAside should have returned; it waits for them. A second Close returns ErrClosed.
func (l *Log) Close() error {
	l.mu.Lock()
	again := l.mu.closed
	l.mu.closed = true
	l.mu.Unlock()
	if again {
		return ErrClosed
	}
	l.wake()
	<-l.done
	l.moveMu.Lock()
	defer l.moveMu.Unlock()
	var err error
	if f := l.committer.file; f != nil {
		err = f.Close()
		l.committer.file = nil
	}
	l.mu.Lock()
	if s := l.committer.active; s != nil {
		s.sealed = true
	}
	l.mu.Unlock()
	l.cleanup()
	if l.registerer != nil {
		l.metrics.unregister(l.registerer)
	}
	return errors.Join(err, l.lock.Close())
}

// wake makes the committer look at its work.
func (l *Log) wake() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}
