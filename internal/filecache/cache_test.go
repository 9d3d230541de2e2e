package filecache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/filecache"
	"github.com/millstream/millstream/internal/objstore"
	"github.com/millstream/millstream/internal/tenant"
)

// remote is a store whose objects are in memory; Get waits for gate when there is one.
type remote struct {
	objstore.Reader
	mu      sync.Mutex
	objects map[string][]byte
	gets    atomic.Int64
	gate    chan struct{}
	keys    []string // asked for, in order
}

// asked returns the keys that were asked for.
func (r *remote) asked() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.keys)
}

func (r *remote) LocalPath(string) (string, bool) { return "", false }

func (r *remote) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	r.mu.Lock()
	r.keys = append(r.keys, key)
	r.mu.Unlock()
	r.gets.Add(1)
	if r.gate != nil {
		select {
		case <-r.gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.objects[key]
	if !ok {
		return nil, objstore.ErrNotFound
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

// put stores an object of n bytes and returns its segment.
func (r *remote) put(t *testing.T, org tenant.ID, id catalog.SegmentID, n int) catalog.Segment {
	t.Helper()
	b := bytes.Repeat([]byte{byte(id)}, n)
	sum, err := columnar.Checksum(bytes.NewReader(b))
	require.NoError(t, err)
	s := catalog.Segment{ID: id, Org: org, Key: fmt.Sprintf("%s/logs/%d.parquet", org, id), Bytes: int64(n), Checksum: sum}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects[s.Key] = b
	return s
}

func open(t *testing.T, dir string, most int64, r *remote) *filecache.Cache {
	t.Helper()
	c, err := filecache.New(filecache.Options{Dir: dir, MaxBytes: most}, r, nil)
	require.NoError(t, err)
	return c
}

// stored returns the bytes below dir.
func stored(t *testing.T, dir string) int64 {
	t.Helper()
	var n int64
	require.NoError(t, filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		n += info.Size()
		return err
	}))
	return n
}

func TestPinFetchesOnce(t *testing.T) {
	t.Parallel()
	r := &remote{objects: map[string][]byte{}, gate: make(chan struct{})}
	dir := t.TempDir()
	c := open(t, dir, 100, r)
	a, b := r.put(t, "acme", 1, 10), r.put(t, "acme", 2, 20)
	var g errgroup.Group
	for range 8 {
		g.Go(func() error {
			paths, release, err := c.Pin(t.Context(), []catalog.Segment{a, b, a})
			if err != nil {
				return err
			}
			defer release()
			for i, want := range []byte{1, 2, 1} {
				got, err := os.ReadFile(paths[i])
				if err != nil || got[0] != want {
					return fmt.Errorf("file %d is %v: %w", i, got, err)
				}
			}
			return nil
		})
	}
	close(r.gate)
	require.NoError(t, g.Wait())
	require.EqualValues(t, 2, r.gets.Load())
	require.Equal(t, filepath.Join(dir, "acme"), c.Dir("acme"))
}

func TestEvictsTheLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	r := &remote{objects: map[string][]byte{}}
	dir := t.TempDir()
	c := open(t, dir, 30, r)
	pin := func(s catalog.Segment) func() {
		_, release, err := c.Pin(t.Context(), []catalog.Segment{s})
		require.NoError(t, err)
		return release
	}
	a, b, d := r.put(t, "o", 1, 10), r.put(t, "o", 2, 10), r.put(t, "o", 3, 15)
	pin(a)()
	pin(b)()
	pin(a)() // b is the older now
	held := pin(d)
	require.EqualValues(t, 3, r.gets.Load())
	pin(a)()
	require.EqualValues(t, 3, r.gets.Load())
	require.LessOrEqual(t, stored(t, dir), int64(30))
	held()
	pin(b)()
	require.EqualValues(t, 4, r.gets.Load())
}

func TestPlanThatCannotFitFailsFirst(t *testing.T) {
	t.Parallel()
	r := &remote{objects: map[string][]byte{}}
	c := open(t, t.TempDir(), 30, r)
	_, _, err := c.Pin(t.Context(), []catalog.Segment{r.put(t, "o", 1, 20), r.put(t, "o", 2, 20)})
	require.True(t, fault.Is(err, fault.Invalid), err)
	require.Zero(t, r.gets.Load())
}

func TestPlansWaitForPinnedSpace(t *testing.T) {
	t.Parallel()
	r := &remote{objects: map[string][]byte{}}
	c := open(t, t.TempDir(), 30, r)
	a, b := r.put(t, "o", 1, 20), r.put(t, "o", 2, 20)
	_, release, err := c.Pin(t.Context(), []catalog.Segment{a})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = c.Pin(ctx, []catalog.Segment{b})
	require.ErrorIs(t, err, context.Canceled)
	done := make(chan error, 1)
	go func() {
		_, release, err := c.Pin(t.Context(), []catalog.Segment{b})
		if err == nil {
			release()
		}
		done <- err
	}()
	release()
	require.NoError(t, <-done)
}

func TestRestartKeepsAndChecksCopies(t *testing.T) {
	t.Parallel()
	r := &remote{objects: map[string][]byte{}}
	dir := t.TempDir()
	c := open(t, dir, 100, r)
	good, bad := r.put(t, "o", 1, 10), r.put(t, "o", 2, 10)
	paths, release, err := c.Pin(t.Context(), []catalog.Segment{good, bad})
	require.NoError(t, err)
	release()
	require.NoError(t, os.WriteFile(paths[1], []byte("damaged.."), 0o600))
	require.NoError(t, os.WriteFile(paths[1]+"~tmp", []byte("unfinished"), 0o600))
	c = open(t, dir, 100, r)
	paths, release, err = c.Pin(t.Context(), []catalog.Segment{good, bad})
	require.NoError(t, err)
	defer release()
	require.EqualValues(t, 3, r.gets.Load())
	b, err := os.ReadFile(paths[1])
	require.NoError(t, err)
	require.Equal(t, bytes.Repeat([]byte{2}, 10), b)
	require.NoFileExists(t, paths[1]+"~tmp")
}

func TestFailedFetchLeavesNothing(t *testing.T) {
	t.Parallel()
	r := &remote{objects: map[string][]byte{}}
	dir := t.TempDir()
	c := open(t, dir, 25, r)
	s := r.put(t, "o", 1, 20)
	r.objects[s.Key][3]++
	_, _, err := c.Pin(t.Context(), []catalog.Segment{s})
	require.True(t, fault.Is(err, fault.Corrupt), err)
	gone := s
	gone.Key = "o/logs/gone.parquet"
	_, _, err = c.Pin(t.Context(), []catalog.Segment{gone})
	require.ErrorIs(t, err, objstore.ErrNotFound)
	require.Zero(t, stored(t, dir))
	r.objects[s.Key][3]--
	_, release, err := c.Pin(t.Context(), []catalog.Segment{s})
	require.NoError(t, err)
	release()
}

func TestManyPlans(t *testing.T) {
	t.Parallel()
	r := &remote{objects: map[string][]byte{}}
	dir := t.TempDir()
	c := open(t, dir, 60, r)
	var segments []catalog.Segment
	for i := range 12 {
		segments = append(segments, r.put(t, "o", catalog.SegmentID(i+1), 10+i%3))
	}
	var g errgroup.Group
	for w := range 6 {
		g.Go(func() error {
			for i := range 40 {
				plan := []catalog.Segment{segments[(w*5+i)%12], segments[(w*7+i*3)%12], segments[i%12]}
				paths, release, err := c.Pin(t.Context(), plan)
				if err != nil {
					return err
				}
				for j, p := range paths {
					if info, err := os.Stat(p); err != nil || info.Size() != plan[j].Bytes {
						return fmt.Errorf("pinned file: %v, %w", info, err)
					}
				}
				release()
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	require.LessOrEqual(t, stored(t, dir), int64(60))
}

// TestPlanIsFetchedInParts counts how many objects of one plan are under way at a time, and which come first.
func TestPlanIsFetchedInParts(t *testing.T) {
	t.Parallel()
	r := &remote{objects: map[string][]byte{}, gate: make(chan struct{})}
	c, err := filecache.New(filecache.Options{Dir: t.TempDir(), MaxBytes: 1000, Fetches: 3}, r, nil)
	require.NoError(t, err)
	var plan []catalog.Segment
	for id := range catalog.SegmentID(10) {
		plan = append(plan, r.put(t, "acme", id+1, 10))
	}
	done := make(chan error, 1)
	go func() {
		_, release, err := c.Pin(t.Context(), plan)
		if err == nil {
			release()
		}
		done <- err
	}()
	require.Eventually(t, func() bool { return r.gets.Load() == 3 }, 10*time.Second, time.Millisecond)
	require.Never(t, func() bool { return r.gets.Load() > 3 }, 50*time.Millisecond, time.Millisecond)
	require.ElementsMatch(t, []string{plan[0].Key, plan[1].Key, plan[2].Key}, r.asked(), "the first of the plan come first")
	close(r.gate)
	require.NoError(t, <-done)
	require.EqualValues(t, 10, r.gets.Load())
}

// TestRoomOnTheDisk lets the cache hold less than its bound when the file system has no more.
func TestRoomOnTheDisk(t *testing.T) {
	t.Parallel()
	r := &remote{objects: map[string][]byte{}}
	dir := t.TempDir()
	const disk = 100
	space := func(string) (total, free int64, err error) { return disk, disk - stored(t, dir), nil }
	c, err := filecache.New(filecache.Options{Dir: dir, MaxBytes: 1000, MinFree: 40, Space: space}, r, nil)
	require.NoError(t, err)
	a, b, big := r.put(t, "acme", 1, 30), r.put(t, "acme", 2, 40), r.put(t, "acme", 3, 70)

	_, release, err := c.Pin(t.Context(), []catalog.Segment{a})
	require.NoError(t, err)
	waiting := make(chan error, 1)
	go func() { // a is in the way, and pinned
		_, release, err := c.Pin(t.Context(), []catalog.Segment{b})
		if err == nil {
			release()
		}
		waiting <- err
	}()
	require.Never(t, func() bool { return len(waiting) > 0 }, 50*time.Millisecond, time.Millisecond)
	release()
	require.NoError(t, <-waiting, "a made room")
	require.EqualValues(t, 40, stored(t, dir))

	_, _, err = c.Pin(t.Context(), []catalog.Segment{big})
	require.True(t, fault.Is(err, fault.Unavailable), err)
	require.ErrorContains(t, err, "cache.min_free")
	_, release, err = c.Pin(t.Context(), []catalog.Segment{b})
	require.NoError(t, err, "what is there is not fetched again")
	release()
	require.EqualValues(t, 2, r.gets.Load())
}
