package objstore

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millstream/millstream/internal/clock"
)

// Memory is a store in memory, for tests and demonstrations. Nothing survives the process.
type Memory struct {
	clock clock.Clock
	mu    struct {
		sync.RWMutex
		objects map[string]object // contents are never changed in place
	}
}

type object struct {
	data     []byte
	modified time.Time
}

// NewMemory returns an empty store. A nil clock means the machine's; it stamps Modified.
func NewMemory(c clock.Clock) *Memory {
	if c == nil {
		c = clock.System{}
	}
	m := &Memory{clock: c}
	m.mu.objects = map[string]object{}
	return m
}

// Get implements Reader.
func (m *Memory) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	o, err := m.lookup(ctx, key)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(o.data)), nil
}

// GetRange implements Reader.
func (m *Memory) GetRange(ctx context.Context, key string, off, length int64) (io.ReadCloser, error) {
	if err := CheckRange(off, length); err != nil {
		return nil, err
	}
	o, err := m.lookup(ctx, key)
	if err != nil {
		return nil, err
	}
	size := int64(len(o.data))
	if off >= size {
		return nil, ErrPastEnd(key, off)
	}
	return io.NopCloser(bytes.NewReader(o.data[off : off+min(length, size-off)])), nil
}

// Stat implements Reader.
func (m *Memory) Stat(ctx context.Context, key string) (Info, error) {
	o, err := m.lookup(ctx, key)
	if err != nil {
		return Info{}, err
	}
	return Info{Size: int64(len(o.data)), Modified: o.modified}, nil
}

// LocalPath implements Reader: there is no file.
func (m *Memory) LocalPath(string) (string, bool) { return "", false }

// Put implements Store.
func (m *Memory) Put(ctx context.Context, key string, r io.ReaderAt, size int64) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	data, err := io.ReadAll(io.NewSectionReader(r, 0, size))
	if err != nil {
		return fmt.Errorf("put object %q: read its content: %w", key, err)
	}
	if int64(len(data)) != size {
		return fmt.Errorf("put object %q: %w after %d of %d bytes", key, io.ErrUnexpectedEOF, len(data), size)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.objects[key] = object{data: data, modified: m.clock.Now()}
	return nil
}

// PutFile implements Store.
func (m *Memory) PutFile(ctx context.Context, key, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("put object %q: %w", key, err)
	}
	return m.Put(ctx, key, bytes.NewReader(data), int64(len(data)))
}

// Delete implements Store.
func (m *Memory) Delete(ctx context.Context, key string) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.mu.objects, key)
	return nil
}

// List implements Store. It visits a copy of the list, in the order of keys.
func (m *Memory) List(ctx context.Context, prefix string, visit func(Entry) error) error {
	if err := CheckPrefix(prefix); err != nil {
		return err
	}
	var entries []Entry
	m.mu.RLock()
	for _, key := range slices.Sorted(maps.Keys(m.mu.objects)) {
		if strings.HasPrefix(key, prefix) {
			entries = append(entries, Entry{Key: key, Modified: m.mu.objects[key].modified})
		}
	}
	m.mu.RUnlock()
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := visit(e); err != nil {
			return err
		}
	}
	return nil
}

// Close implements Store.
func (m *Memory) Close() error { return nil }

func (m *Memory) lookup(ctx context.Context, key string) (object, error) {
	if err := check(ctx, key); err != nil {
		return object{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	o, ok := m.mu.objects[key]
	if !ok {
		return object{}, notFound(key)
	}
	return o, nil
}

// check is what every operation on one key looks at first.
func check(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return CheckKey(key)
}

func notFound(key string) error { return fmt.Errorf("object %q: %w", key, ErrNotFound) }
