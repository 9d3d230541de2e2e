package wal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

const tempExt = ".tmp"

// asideID names a directory aside/<dataset>/<epoch>.
type asideID struct{ dataset, epoch int64 }

func (l *Log) asideDir(id asideID) string {
	return path.Join(l.opts.Dir, asideName, strconv.FormatInt(id.dataset, 10), strconv.FormatInt(id.epoch, 10))
}

// MoveAside copies the durable, unreleased records of key to a synced file in aside/<dataset>/<epoch>, so that they keep no segment
// of the log proper any longer, and deletes the segments this frees. Replay reads the copies; Release deletes them. Records enqueued
// later go to the log proper as ever. Without such records it does nothing. On error, ctx's included, nothing has changed.
func (l *Log) MoveAside(ctx context.Context, key Key) error {
	l.moveMu.Lock()
	defer l.moveMu.Unlock()
	sources, after, upTo, err := l.pinSources(key)
	if err != nil || len(sources) == 0 {
		return err
	}
	copied, err := l.copyAside(ctx, key, sources, seqRange{after, upTo})
	l.mu.Lock()
	for _, src := range sources {
		src.seg.pins--
	}
	if err == nil {
		ks := l.keyOf(key)
		ks.aside = max(ks.aside, upTo)
		if copied != nil {
			ks.spans++
			l.mu.asides = append(l.mu.asides, copied)
		}
		l.trim(key, ks)
	}
	l.mu.Unlock()
	l.cleanup()
	if err != nil {
		return fmt.Errorf("move records of %s aside: %w", key, err)
	}
	return nil
}

// seqRange holds the sequence numbers above after, up to and including upTo.
type seqRange struct{ after, upTo uint64 }

// source is a segment to copy from and where its bytes end.
type source struct {
	seg *segment
	end int64
}

// pinSources returns the segments that hold live records of key and keeps them from being deleted. The records meant are those with
// after < Seq <= upTo.
func (l *Log) pinSources(key Key) (list []source, after, upTo uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed {
		return nil, 0, 0, ErrClosed
	}
	if !l.mu.ready {
		return nil, 0, 0, ErrNotReplayed
	}
	for _, s := range l.mu.segments {
		if sp := s.spans[key]; sp != nil && !s.deleting {
			s.pins++
			list = append(list, source{s, s.size})
			upTo = sp.max
		}
	}
	if ks := l.mu.keys[key]; ks != nil {
		after = max(ks.released, ks.aside)
	}
	return list, after, upTo, nil
}

// keyOf returns the state of key, made if needed. Callers hold mu.
func (l *Log) keyOf(key Key) *keyState {
	ks := l.mu.keys[key]
	if ks == nil {
		ks = &keyState{}
		l.mu.keys[key] = ks
	}
	return ks
}

// copyAside writes the records to a new file and returns it, nil if all of them turned out to be damaged.
func (l *Log) copyAside(ctx context.Context, key Key, sources []source, want seqRange) (*segment, error) {
	id := asideID{key.Dataset, key.Epoch}
	dir, err := l.makeAsideDir(id)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	h := segmentHeader{seq: l.mu.nextFile, mark: newMark(), node: key.Node, epoch: key.Epoch, created: l.clock.Now()}
	l.mu.nextFile++
	l.mu.Unlock()
	s := &segment{aside: &id, header: h, spans: map[Key]*span{}, sealed: true, indexed: true}
	s.path = path.Join(dir, segmentName(h.seq, h.mark))
	temp := s.path + tempExt
	f, err := l.fs.Create(temp)
	if err != nil {
		return nil, err
	}
	w := &asideWriter{file: f, seg: s, log: l}
	err = w.copyAll(ctx, key, sources, want)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil && len(s.spans) > 0 {
		err = errors.Join(l.fs.Rename(temp, s.path), l.fs.SyncDir(dir))
		if err == nil {
			return s, nil
		}
		_ = l.fs.Remove(s.path) // a copy that stays is met as duplicates by Replay
	}
	return nil, errors.Join(err, ignoreNotExist(l.fs.Remove(temp)))
}

func ignoreNotExist(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// makeAsideDir makes the directory durable up to Options.Dir.
func (l *Log) makeAsideDir(id asideID) (string, error) {
	dir := l.asideDir(id)
	if err := l.fs.MkdirAll(dir); err != nil {
		return "", err
	}
	return dir, errors.Join(l.fs.SyncDir(path.Dir(dir)), l.fs.SyncDir(path.Dir(path.Dir(dir))), l.fs.SyncDir(l.opts.Dir))
}

// asideWriter copies records into one file.
type asideWriter struct {
	log  *Log
	file File
	seg  *segment
	buf  []byte
}

func (w *asideWriter) copyAll(ctx context.Context, key Key, sources []source, want seqRange) error {
	w.buf = w.seg.header.encode()
	w.seg.headerLen = int64(len(w.buf))
	for _, src := range sources {
		if err := w.copySegment(ctx, key, src, want); err != nil {
			return err
		}
	}
	return w.flush()
}

func (w *asideWriter) copySegment(ctx context.Context, key Key, src source, want seqRange) error {
	f, err := w.log.fs.Open(src.seg.path)
	if err != nil {
		return err
	}
	r := newSegmentReader(f, src.seg.header.mark, src.seg.headerLen, src.end)
	for err == nil {
		var it item
		it, err = r.next()
		if err = errors.Join(err, ctx.Err()); err != nil || it.kind == itemEnd {
			break
		}
		h := it.header
		switch {
		case it.kind != itemRecord:
			w.damage(src, f, it)
		case h.key == key && h.seq > want.after && h.seq <= want.upTo && !w.log.refusedLSN(h.lsn):
			err = w.add(it)
		}
	}
	return errors.Join(err, f.Close())
}

// damage sets a damaged range aside that the copy has met.
func (w *asideWriter) damage(src source, f File, it item) {
	d := damageOf(src.seg, it)
	if err := w.log.quarantineDamage(src.seg, f, &d); err != nil {
		w.log.pin(src.seg)
		w.log.logger.Error("kept a damaged segment, its damage could not be copied", "segment", d.Segment, "error", err)
	}
}

func (w *asideWriter) add(it item) error {
	at := w.seg.size + int64(len(w.buf))
	w.buf = append(w.buf, it.raw...)
	remark(w.buf[at-w.seg.size:], w.seg.header.mark)
	w.seg.add(it.header.key, it.header.seq, w.seg.header.created, at)
	if len(w.buf) >= readChunk {
		return w.flush()
	}
	return nil
}

func (w *asideWriter) flush() error {
	_, err := w.file.WriteAt(w.buf, w.seg.size)
	w.seg.size += int64(len(w.buf))
	w.buf = w.buf[:0]
	return err
}

// listAsides returns the files in aside/ in order of dataset, epoch and number, and removes what interrupted work has left.
func (l *Log) listAsides() ([]*segment, error) {
	root := path.Join(l.opts.Dir, asideName)
	datasets, err := l.numberedDirs(root)
	if err != nil {
		return nil, err
	}
	var list []*segment
	for _, dataset := range datasets {
		epochs, err := l.numberedDirs(path.Join(root, strconv.FormatInt(dataset, 10)))
		if err != nil {
			return nil, err
		}
		for _, epoch := range epochs {
			segments, err := l.listAside(asideID{dataset, epoch})
			if err != nil {
				return nil, err
			}
			list = append(list, segments...)
		}
	}
	return list, nil
}

// listAside returns the files of one directory.
func (l *Log) listAside(id asideID) ([]*segment, error) {
	dir := l.asideDir(id)
	if err := l.removeTemps(dir); err != nil {
		return nil, err
	}
	segments, err := l.listSegments(dir)
	if err != nil {
		return nil, err
	}
	for _, s := range segments {
		s.aside = &id
	}
	if len(segments) == 0 {
		l.removeEmptyAside(dir)
	}
	return segments, nil
}

// numberedDirs returns the subdirectories of dir whose names are numbers, ascending; none if dir does not exist.
func (l *Log) numberedDirs(dir string) ([]int64, error) {
	entries, err := l.fs.ReadDir(dir)
	if err = ignoreNotExist(err); err != nil {
		return nil, fmt.Errorf("list copied records: %w", err)
	}
	var list []int64
	for _, e := range entries {
		if n, err := strconv.ParseInt(e.Name(), 10, 64); err == nil && e.IsDir() {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, nil
}

func (l *Log) removeTemps(dir string) error {
	entries, err := l.fs.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), tempExt) {
			continue
		}
		if err := l.fs.Remove(path.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("remove unfinished copy: %w", err)
		}
	}
	return nil
}

// removeEmptyAside removes a directory of copies and its parent if they are empty, unless a copy is being made just now. What is left
// does no harm and goes at the next start.
func (l *Log) removeEmptyAside(dir string) {
	if !l.moveMu.TryLock() {
		return
	}
	defer l.moveMu.Unlock()
	if l.fs.Remove(dir) == nil {
		_ = l.fs.Remove(path.Dir(dir)) // not empty while the dataset has other epochs
	}
}

// refusedLSN reports whether the record of that LSN, found in a segment, belongs to a failed group.
func (l *Log) refusedLSN(lsn LSN) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failureOf(lsn) != nil || slices.ContainsFunc(l.mu.voids, func(v lsnRange) bool { return v.contains(lsn) })
}
