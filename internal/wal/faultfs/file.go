package faultfs

import (
	"io"
	"io/fs"
	"slices"
	"syscall"
)

// file is an open file.
type file struct {
	fs   *FS
	node *node
	name string
}

// ReadAt implements io.ReaderAt.
func (h *file) ReadAt(b []byte, off int64) (int, error) {
	if _, err := h.fs.check(OpRead, h.name); err != nil {
		return 0, pathError(OpRead, h.name, err)
	}
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if off >= int64(len(h.node.data)) {
		return 0, io.EOF
	}
	n := copy(b, h.node.data[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt implements io.WriterAt.
func (h *file) WriteAt(b []byte, off int64) (int, error) {
	short, failed := h.fs.check(OpWrite, h.name)
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if failed != nil {
		b = b[:min(short, len(b))]
	}
	if grow := off + int64(len(b)) - int64(len(h.node.data)); grow > 0 && h.fs.mu.capacity > 0 {
		if over := h.fs.used() + grow - h.fs.mu.capacity; over > 0 {
			b = b[:max(0, int64(len(b))-min(over, grow))]
			failed = syscall.ENOSPC
		}
	}
	h.node.write(b, int(off))
	if failed != nil {
		return len(b), pathError(OpWrite, h.name, failed)
	}
	return len(b), nil
}

func (n *node) write(b []byte, off int) {
	if len(b) == 0 {
		return
	}
	n.dirtyFrom = min(n.dirtyFrom, off, len(n.data))
	if end := off + len(b); end > len(n.data) {
		n.data = append(n.data, make([]byte, end-len(n.data))...)
	}
	copy(n.data[off:], b)
}

// Truncate cuts or extends the file.
func (h *file) Truncate(size int64) error {
	if _, err := h.fs.check(OpTruncate, h.name); err != nil {
		return pathError(OpTruncate, h.name, err)
	}
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	n := h.node
	if int(size) > len(n.data) {
		n.write(make([]byte, int(size)-len(n.data)), len(n.data))
		return nil
	}
	n.data = n.data[:size:size]
	n.dirtyFrom = min(n.dirtyFrom, int(size))
	return nil
}

// Sync makes the content durable. A failing Sync leaves in doubt what was dirty.
func (h *file) Sync() error {
	_, failed := h.fs.check(OpSync, h.name)
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	n := h.node
	if failed != nil {
		if n.doubtTo == 0 {
			n.doubtFrom, n.stale = n.dirtyFrom, slices.Clone(n.synced)
		}
		n.doubtFrom, n.doubtTo = min(n.doubtFrom, n.dirtyFrom), max(n.doubtTo, len(n.data))
		return pathError(OpSync, h.name, failed)
	}
	from := min(n.dirtyFrom, len(n.synced), len(n.data))
	n.synced = append(n.synced[:from:from], n.data[from:]...)
	n.dirtyFrom = len(n.data)
	return nil
}

// Size returns the length.
func (h *file) Size() (int64, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	return int64(len(h.node.data)), nil
}

// Close does nothing.
func (h *file) Close() error { return nil }

// ReadFile returns a copy of a file's content.
func (f *FS) ReadFile(name string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.mu.now[clean(name)]
	if n == nil || n.dir {
		return nil, pathError(OpRead, name, fs.ErrNotExist)
	}
	return slices.Clone(n.data), nil
}

// Damage lets edit change the content of a file on disk, as a bad medium would.
func (f *FS) Damage(name string, edit func(data []byte) []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.mu.now[clean(name)]
	if n == nil || n.dir {
		return pathError(OpWrite, name, fs.ErrNotExist)
	}
	n.data = edit(slices.Clone(n.data))
	n.synced, n.dirtyFrom = slices.Clone(n.data), len(n.data)
	return nil
}
