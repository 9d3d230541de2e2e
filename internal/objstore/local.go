package objstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/millstream/millstream/internal/fault"
)

// tempDir holds unfinished files below a Local's root. No key can name it: keys have no tilde.
const tempDir = "~tmp"

// staleAfter is how long an unfinished file lies untouched before NewLocal takes it for one that an ended process left.
const staleAfter = time.Hour

// Local is a store in a folder. Objects are files at root/key, so a reader on this machine may use them in place (LocalPath).
// Several processes may share a root.
type Local struct {
	root string
}

// NewLocal opens the store at root, which is created when missing, and removes unfinished files older than an hour. The folder
// must lie on one file system that can rename and sync.
func NewLocal(root string) (*Local, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("open object folder: %w", err)
	}
	temp := filepath.Join(root, tempDir)
	if err := os.MkdirAll(temp, 0o750); err != nil {
		return nil, fmt.Errorf("open object folder: %w", err)
	}
	if err := removeStale(temp); err != nil {
		return nil, fmt.Errorf("clean object folder: %w", err)
	}
	if err := syncDir(filepath.Dir(root)); err != nil {
		return nil, fmt.Errorf("open object folder: %w", err)
	}
	return &Local{root: root}, nil
}

// removeStale removes unfinished files that nobody wrote to for long: those of ended processes, not of one that shares the root.
func removeStale(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < staleAfter {
			continue // finished meanwhile, or young
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !isMissing(err) {
			return err
		}
	}
	return nil
}

// Get implements Reader.
func (l *Local) Get(ctx context.Context, key string) (io.ReadCloser, error) { return l.open(ctx, key) }

// GetRange implements Reader.
func (l *Local) GetRange(ctx context.Context, key string, off, length int64) (_ io.ReadCloser, err error) {
	if err := CheckRange(off, length); err != nil {
		return nil, err
	}
	f, err := l.open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, localFault(err, "get range of", key)
	}
	if off >= info.Size() {
		return nil, ErrPastEnd(key, off)
	}
	return section{io.NewSectionReader(f, off, min(length, info.Size()-off)), f}, nil
}

// section reads a part of a file and closes the file.
type section struct {
	io.Reader
	io.Closer
}

// Stat implements Reader.
func (l *Local) Stat(ctx context.Context, key string) (Info, error) {
	if err := check(ctx, key); err != nil {
		return Info{}, err
	}
	info, err := os.Stat(l.path(key))
	switch {
	case err != nil:
		return Info{}, localFault(err, "stat", key)
	case info.IsDir():
		return Info{}, notFound(key)
	}
	return Info{Size: info.Size(), Modified: info.ModTime()}, nil
}

// LocalPath implements Reader.
func (l *Local) LocalPath(key string) (string, bool) {
	if CheckKey(key) != nil {
		return "", false
	}
	return l.path(key), true
}

// Delete implements Store. Folders that became empty are removed too. The removal is not synced: a file that comes back after a
// power cut belongs to nobody, and the sweep finds it again.
func (l *Local) Delete(ctx context.Context, key string) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	path := l.path(key)
	if err := os.Remove(path); err != nil && !isMissing(err) {
		return localFault(err, "delete", key)
	}
	for dir := filepath.Dir(path); dir != l.root; dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil { // not empty, or gone: either way there is nothing more to do
			break
		}
	}
	return nil
}

// List implements Store.
func (l *Local) List(ctx context.Context, prefix string, visit func(Entry) error) error {
	if err := CheckPrefix(prefix); err != nil {
		return err
	}
	var visitErr error // told apart from errors of the walk, which need wrapping
	err := filepath.WalkDir(l.path(prefix), func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case isMissing(err):
			return nil // removed meanwhile
		case err != nil:
			return err
		case d.IsDir() && path == filepath.Join(l.root, tempDir):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		info, err := d.Info()
		if isMissing(err) {
			return nil
		}
		if err != nil {
			return err
		}
		key := filepath.ToSlash(strings.TrimPrefix(path, l.root+string(filepath.Separator)))
		visitErr = visit(Entry{Key: key, Modified: info.ModTime()})
		return visitErr
	})
	if err != nil && visitErr == nil {
		return localFault(err, "list", prefix)
	}
	return err
}

// Close implements Store.
func (l *Local) Close() error { return nil }

func (l *Local) open(ctx context.Context, key string) (*os.File, error) {
	if err := check(ctx, key); err != nil {
		return nil, err
	}
	f, err := os.Open(l.path(key))
	if err != nil {
		return nil, localFault(err, "get", key)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, errors.Join(localFault(err, "get", key), f.Close())
	}
	return f, nil
}

func (l *Local) path(key string) string { return filepath.Join(l.root, filepath.FromSlash(key)) }

// localFault turns an error of the file system into one of the contract.
func localFault(err error, action, key string) error {
	switch {
	case isMissing(err):
		return notFound(key)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return fault.Wrap(fault.Unavailable, err, "object store: cannot %s %q", action, key)
}
