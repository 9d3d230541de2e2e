package objstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/millstream/millstream/internal/fault"
)

// publishTries bounds how often a folder is made again after Delete removed it as empty at the same moment.
const publishTries = 20

// Put implements Store: copy, sync, rename, sync the folders above.
func (l *Local) Put(ctx context.Context, key string, r io.ReaderAt, size int64) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	temp := l.tempPath()
	err := writeFile(temp, contextReader{err: ctx.Err, r: io.NewSectionReader(r, 0, size)}, size)
	if err == nil {
		err = l.publish(temp, key)
	}
	if err != nil {
		_ = os.Remove(temp) // NewLocal removes what is left
		return putFault(err, key)
	}
	return nil
}

// PutFile implements Store. On the same file system the object is a second name of the file, so no byte is copied.
func (l *Local) PutFile(ctx context.Context, key, path string) (err error) {
	if err := check(ctx, key); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("put object %q: %w", key, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("put object %q: %w", key, err)
	}
	temp := l.tempPath()
	if os.Link(path, temp) != nil { // another file system, or one without hard links
		return l.Put(ctx, key, f, info.Size())
	}
	now := time.Now() // Modified tells when the object was put, not when its bytes were written
	err = errors.Join(os.Chtimes(temp, now, now), f.Sync())
	if err == nil {
		err = l.publish(temp, key)
	}
	if err != nil {
		_ = os.Remove(temp)
		return putFault(err, key)
	}
	return nil
}

// putFault is localFault for writes, where a missing file is the store's trouble and a short source the caller's.
func putFault(err error, key string) error {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("put object %q: %w", key, err)
	}
	return fault.Wrap(fault.Unavailable, err, "object store: cannot put %q", key)
}

// publish moves a synced file to its key and makes its name durable.
func (l *Local) publish(temp, key string) error {
	path := l.path(key)
	dir := filepath.Dir(path)
	var err error
	for range publishTries {
		if err = os.MkdirAll(dir, 0o750); err != nil {
			continue
		}
		if err = os.Rename(temp, path); !isMissing(err) {
			break
		}
	}
	if err != nil {
		return err
	}
	// Every folder up to the root, not only the new ones: another Put may have made them a moment ago and not synced them yet.
	// Syncing a folder without changes costs microseconds.
	for ; ; dir = filepath.Dir(dir) {
		if err := syncDir(dir); err != nil && (dir == filepath.Dir(path) || !isMissing(err)) {
			return err
		}
		if dir == l.root {
			return nil
		}
	}
}

func (l *Local) tempPath() string { return filepath.Join(l.root, tempDir, ulid.Make().String()) }

// writeFile writes exactly size bytes to a new file at path and syncs it.
func writeFile(path string, r io.Reader, size int64) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	n, err := io.Copy(f, r)
	if err != nil {
		return err
	}
	if n != size {
		return fmt.Errorf("%w after %d of %d bytes", io.ErrUnexpectedEOF, n, size)
	}
	return f.Sync()
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// isMissing reports whether a file, or a folder on the way to it, does not exist.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// contextReader stops a long copy when the caller has gone.
type contextReader struct {
	err func() error // the context's Err
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
