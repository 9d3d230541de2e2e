package filecache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/tenant"
)

// tempSuffix ends the names of unfinished copies. No object's name ends so.
const tempSuffix = "~tmp"

func (c *Cache) path(key string) string { return filepath.Join(c.opts.Dir, filepath.FromSlash(key)) }

// fill makes a pinned file whole: it fetches it, or waits for whoever does. When another's fetch fails it tries itself.
func (c *Cache) fill(ctx context.Context, f *file, s catalog.Segment) error {
	for {
		c.mu.Lock()
		switch {
		case f.whole:
			c.mu.Unlock()
			c.metrics.hits.Inc()
			return nil
		case f.busy == nil:
			f.busy = make(chan struct{})
			c.mu.Unlock()
			return c.fetch(ctx, f, s)
		}
		busy := f.busy
		c.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// fetch takes what an earlier process left if that is right, else copies the object.
func (c *Cache) fetch(ctx context.Context, f *file, s catalog.Segment) error {
	left := isCopy(f.path, s)
	var err error
	if !left {
		err = c.copy(ctx, f, s)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f.whole = err == nil
	if f.whole && !f.there {
		f.there = true
		c.mu.await -= f.bytes
	}
	close(f.busy)
	f.busy = nil
	if err != nil {
		c.metrics.failures.Inc()
		return fmt.Errorf("fetch segment %d: %w", s.ID, err)
	}
	if left {
		c.metrics.hits.Inc()
	} else {
		c.metrics.fetched.Add(float64(s.Bytes))
	}
	return nil
}

// isCopy reports whether the file at path is the segment's object.
func isCopy(path string, s catalog.Segment) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // only read
	sum, err := columnar.Checksum(f)
	return err == nil && sum == s.Checksum
}

// copy writes the object to a file beside its name, checks it and gives it the name.
func (c *Cache) copy(ctx context.Context, f *file, s catalog.Segment) (err error) {
	in, err := c.objects.Get(ctx, s.Key)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if err := os.MkdirAll(filepath.Dir(f.path), 0o750); err != nil {
		return fault.Wrap(fault.Unavailable, err, "make a folder of the file cache")
	}
	temp := f.path + tempSuffix
	out, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "make a file of the file cache")
	}
	err = check(out, in, s)
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(temp, f.path)
	}
	if err != nil {
		removeFile(temp)
	}
	return err
}

// check copies in to out and compares what arrived with the catalog's word.
func check(out *os.File, in io.Reader, s catalog.Segment) error {
	n, err := io.Copy(out, io.LimitReader(in, s.Bytes+1))
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "copy an object")
	}
	if n != s.Bytes {
		return fault.New(fault.Corrupt, "object %s has another size than the catalog says (%d)", s.Key, s.Bytes)
	}
	if _, err := out.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read a copy again: %w", err)
	}
	sum, err := columnar.Checksum(out)
	if err != nil {
		return err
	}
	if sum != s.Checksum {
		return fault.New(fault.Corrupt, "object %s has the checksum %s, the catalog says %s", s.Key, sum, s.Checksum)
	}
	return nil
}

// removeFile removes a file that nobody needs. What cannot be removed is tried again at the next start.
func removeFile(path string) {
	_ = os.Remove(path)
}

// adopt lists the copies that are there, the oldest first.
func (c *Cache) adopt() error {
	if err := os.MkdirAll(c.opts.Dir, 0o750); err != nil {
		return err
	}
	type found struct {
		*file
		modified int64
	}
	var all []found
	err := filepath.WalkDir(c.opts.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if strings.HasSuffix(path, tempSuffix) {
			return os.Remove(path)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		key, err := filepath.Rel(c.opts.Dir, path)
		if err != nil {
			return err
		}
		key = filepath.ToSlash(key)
		org, _, _ := strings.Cut(key, "/")
		all = append(all, found{&file{key: key, org: tenant.ID(org), path: path, bytes: info.Size(), there: true}, info.ModTime().UnixNano()})
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b found) int { return cmp.Compare(a.modified, b.modified) })
	for _, f := range all {
		c.mu.files[f.key] = f.file
		c.mu.bytes += f.bytes
		f.place = c.mu.idle.PushBack(f.file)
	}
	for c.mu.bytes > c.opts.MaxBytes {
		c.evict(fileOf(c.mu.idle.Front()))
	}
	c.metrics.bytes.Set(float64(c.mu.bytes))
	return nil
}
