package objstore

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/millstream/millstream/internal/fault"
)

// ErrNotFound is in the chain of every error about a missing object.
var ErrNotFound = fault.New(fault.NotFound, "no such object")

// Info describes an object.
type Info struct {
	Size     int64     // bytes
	Modified time.Time // when it was put, to a second or better, by the store's clock
}

// Entry is one object in a listing.
type Entry struct {
	Key      string
	Modified time.Time // as in Info
}

// Reader is the part of a store that queries need.
type Reader interface {
	// Get opens the whole object. The caller closes it.
	Get(ctx context.Context, key string) (io.ReadCloser, error)

	// GetRange opens length bytes from offset off (off ≥ 0, length > 0); a range that reaches past the end is cut there, one that
	// starts at or past the end is fault.Invalid. The caller closes it.
	GetRange(ctx context.Context, key string, off, length int64) (io.ReadCloser, error)

	// Stat describes the object.
	Stat(ctx context.Context, key string) (Info, error)

	// LocalPath returns the absolute path of the object's file when the store is a folder of this machine, so that it can be read in
	// place, and false otherwise. It does not look whether the object exists. The file must not be written.
	LocalPath(key string) (string, bool)
}

// Store is an object store. See the package comment for what it promises.
type Store interface {
	Reader

	// Put stores size bytes of r, read from offset 0, possibly several times and in parallel parts.
	Put(ctx context.Context, key string, r io.ReaderAt, size int64) error

	// PutFile stores the file at path. The file stays the caller's but must not be written any more: a store on the same file system
	// shares its bytes instead of copying them.
	PutFile(ctx context.Context, key, path string) error

	// Delete removes the object; a missing one is fine.
	Delete(ctx context.Context, key string) error

	// List calls visit for every object below the folder prefix, "" for all or a key's leading segments with their slash ("org/"),
	// in no particular order, and stops with visit's first error. Objects that come or go meanwhile may be listed or not.
	List(ctx context.Context, prefix string, visit func(Entry) error) error

	// Close gives connections back. The store is not used afterwards.
	Close() error
}

// ReadAll returns the whole object. It is for small ones: index files, manifests.
func ReadAll(ctx context.Context, s Reader, key string) ([]byte, error) {
	r, err := s.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	if closeErr := r.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("read object %q: %w", key, err)
	}
	return data, nil
}

// ReadRange fills buf from offset off. An object that ends before buf is full is io.ErrUnexpectedEOF.
func ReadRange(ctx context.Context, s Reader, key string, off int64, buf []byte) error {
	r, err := s.GetRange(ctx, key, off, int64(len(buf)))
	if err != nil {
		return err
	}
	_, err = io.ReadFull(r, buf)
	if closeErr := r.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("read %d bytes at %d of object %q: %w", len(buf), off, key, err)
	}
	return nil
}
