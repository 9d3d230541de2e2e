package faultfs

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/millstream/millstream/internal/wal"
)

// FS is a file system in memory. Names are taken relative to its root, with or without a leading slash.
type FS struct {
	mu struct {
		sync.Mutex
		now      map[string]*node // what programs see; the root is ""
		disk     map[string]*node // names that are durable
		journal  map[string][]change
		faults   []*Fault
		capacity int64
		locks    map[string]bool
	}
}

// node is a file or directory.
type node struct {
	dir          bool
	data, synced []byte
	dirtyFrom    int // first byte written since the last sync, len(data) if none
	// doubt is the range that was dirty at a failed sync, and stale the synced content of then.
	doubtFrom, doubtTo int
	stale              []byte
}

// change is an entry of a directory's journal: name becomes node, or vanishes if node is nil, and from vanishes if not empty.
type change struct {
	name, from string
	node       *node
}

// New returns an empty file system without limit of size.
func New() *FS {
	f := &FS{}
	root := &node{dir: true}
	f.mu.now, f.mu.disk = map[string]*node{"": root}, map[string]*node{"": root}
	f.mu.journal, f.mu.locks = map[string][]change{}, map[string]bool{}
	return f
}

func clean(name string) string {
	name = strings.TrimPrefix(path.Clean(name), "/")
	if name == "." {
		return ""
	}
	return name
}

func parent(name string) string { return clean(path.Dir(name)) }

func pathError(op Op, name string, err error) error {
	return &fs.PathError{Op: string(op), Path: name, Err: err}
}

// SetCapacity bounds the bytes of all files; 0 is no bound. More than the bound may be in use already.
func (f *FS) SetCapacity(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.capacity = n
}

// Used returns the bytes of all files.
func (f *FS) Used() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.used()
}

func (f *FS) used() int64 {
	var n int64
	for _, v := range f.mu.now {
		n += int64(len(v.data))
	}
	return n
}

// record applies a change and journals it. Callers hold mu.
func (f *FS) record(c change) {
	apply(f.mu.now, c)
	dir := parent(c.name)
	f.mu.journal[dir] = append(f.mu.journal[dir], c)
}

func apply(names map[string]*node, c change) {
	if c.from != "" {
		delete(names, c.from)
	}
	if c.node == nil {
		delete(names, c.name)
		return
	}
	names[c.name] = c.node
}

// Create makes a new file.
func (f *FS) Create(name string) (wal.File, error) {
	if _, err := f.check(OpCreate, name); err != nil {
		return nil, pathError(OpCreate, name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p := clean(name)
	switch d := f.mu.now[parent(p)]; {
	case f.mu.now[p] != nil:
		return nil, pathError(OpCreate, name, fs.ErrExist)
	case d == nil || !d.dir:
		return nil, pathError(OpCreate, name, fs.ErrNotExist)
	}
	n := &node{}
	f.record(change{name: p, node: n})
	return &file{fs: f, node: n, name: p}, nil
}

// Open opens a file.
func (f *FS) Open(name string) (wal.File, error) {
	if _, err := f.check(OpOpen, name); err != nil {
		return nil, pathError(OpOpen, name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.mu.now[clean(name)]
	if n == nil || n.dir {
		return nil, pathError(OpOpen, name, fs.ErrNotExist)
	}
	return &file{fs: f, node: n, name: clean(name)}, nil
}

// ReadDir lists a directory.
func (f *FS) ReadDir(dir string) ([]fs.DirEntry, error) {
	if _, err := f.check(OpReadDir, dir); err != nil {
		return nil, pathError(OpReadDir, dir, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	d := clean(dir)
	if n := f.mu.now[d]; n == nil || !n.dir {
		return nil, pathError(OpReadDir, dir, fs.ErrNotExist)
	}
	var list []fs.DirEntry
	for p, n := range f.mu.now {
		if p != "" && parent(p) == d {
			list = append(list, fs.FileInfoToDirEntry(info{path.Base(p), int64(len(n.data)), n.dir}))
		}
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// MkdirAll makes a directory and its parents.
func (f *FS) MkdirAll(dir string) error {
	if _, err := f.check(OpMkdir, dir); err != nil {
		return pathError(OpMkdir, dir, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var missing []string
	for d := clean(dir); f.mu.now[d] == nil; d = parent(d) {
		missing = append(missing, d)
	}
	for _, d := range slices.Backward(missing) {
		f.record(change{name: d, node: &node{dir: true}})
	}
	return nil
}

// Remove deletes a file or an empty directory.
func (f *FS) Remove(name string) error {
	if _, err := f.check(OpRemove, name); err != nil {
		return pathError(OpRemove, name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p := clean(name)
	if f.mu.now[p] == nil {
		return pathError(OpRemove, name, fs.ErrNotExist)
	}
	for q := range f.mu.now {
		if q != "" && parent(q) == p {
			return pathError(OpRemove, name, syscall.ENOTEMPTY)
		}
	}
	f.record(change{name: p})
	return nil
}

// Rename replaces newName by oldName.
func (f *FS) Rename(oldName, newName string) error {
	if _, err := f.check(OpRename, oldName); err != nil {
		return pathError(OpRename, oldName, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.mu.now[clean(oldName)]
	if n == nil || parent(clean(oldName)) != parent(clean(newName)) {
		return pathError(OpRename, oldName, fs.ErrNotExist)
	}
	f.record(change{name: clean(newName), from: clean(oldName), node: n})
	return nil
}

// SyncDir makes the names in dir durable.
func (f *FS) SyncDir(dir string) error {
	if _, err := f.check(OpSyncDir, dir); err != nil {
		return pathError(OpSyncDir, dir, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	d := clean(dir)
	if f.mu.now[d] == nil {
		return pathError(OpSyncDir, dir, fs.ErrNotExist)
	}
	for _, c := range f.mu.journal[d] {
		apply(f.mu.disk, c)
	}
	delete(f.mu.journal, d)
	return nil
}

// Space returns the bound set, or 1 TiB, and what is left of it.
func (f *FS) Space(string) (total, free int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	total = f.mu.capacity
	if total == 0 {
		total = 1 << 40
	}
	return total, max(0, total-f.used()), nil
}

// Lock takes a lock that lives in this FS; a crash ends it.
func (f *FS) Lock(name string) (io.Closer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := clean(name)
	if f.mu.locks[p] {
		return nil, fmt.Errorf("lock %s: %w", name, syscall.EWOULDBLOCK)
	}
	f.mu.locks[p] = true
	return unlocker{f, p}, nil
}

type unlocker struct {
	fs   *FS
	name string
}

func (u unlocker) Close() error {
	u.fs.mu.Lock()
	defer u.fs.mu.Unlock()
	delete(u.fs.mu.locks, u.name)
	return nil
}

// info describes a name for ReadDir.
type info struct {
	name string
	size int64
	dir  bool
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.dir }
func (i info) Sys() any           { return nil }
func (i info) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o700
	}
	return 0o600
}

var _ wal.FS = (*FS)(nil)
