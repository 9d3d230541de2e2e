package objstoretest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/objstore"
)

// The two orgs of every case. Between them they hold every kind of byte that an org's id may have.
const (
	orgA = "Acme-1_!*'()"
	orgB = ".acme.2"
)

// Config fits the suite to a store.
type Config struct {
	// Open returns an empty store; the suite closes it. It is called once for each case.
	Open func(t *testing.T) objstore.Store
	// Large is the size in bytes of the largest object that is put, so that it goes up in parts where the store knows parts.
	Large int
}

// Run runs the suite.
func Run(t *testing.T, cfg Config) {
	for name, test := range map[string]func(*testing.T, objstore.Store, Config){
		"content comes back":            testContent,
		"keys come back":                testKeys,
		"bad keys are refused":          testBadKeys,
		"ranges":                        testRanges,
		"put replaces":                  testReplace,
		"missing objects":               testMissing,
		"files":                         testPutFile,
		"listing":                       testList,
		"deleting":                      testDelete,
		"writers at once":               testConcurrentPuts,
		"writers and deleters at once":  testConcurrentDeletes,
		"a caller that left":            testCanceled,
		"short content is not accepted": testShortContent,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := cfg.Open(t)
			test(t, s, cfg)
			require.NoError(t, s.Close())
		})
	}
}

func testContent(t *testing.T, s objstore.Store, cfg Config) {
	for _, size := range []int{0, 1, 4096, cfg.Large} {
		a, b := content(size, 1), content(size, 2)
		put(t, s, orgA+"/logs/x", a)
		put(t, s, orgB+"/logs/x", b)
		require.True(t, bytes.Equal(a, get(t, s, orgA+"/logs/x")), "size %d", size)
		require.True(t, bytes.Equal(b, get(t, s, orgB+"/logs/x")), "size %d", size)
		info, err := s.Stat(t.Context(), orgA+"/logs/x")
		require.NoError(t, err)
		require.Equal(t, int64(size), info.Size)
		require.False(t, info.Modified.IsZero())
	}
}

func testKeys(t *testing.T, s objstore.Store, _ Config) {
	keys := []string{
		"0123456789/ABCDEFGHIJKLMNOPQRSTUVWXYZ/abcdefghijklmnopqrstuvwxyz",
		orgA + "/logs/nginx-access:v1.{tag}_x/2024-07-29T14/000000000001.parquet",
		orgB + "/logs/a=b,c@d+e/1",
		"(paren)/'quote'/*star*/!bang!/...",
		".hidden/.x",
		"-/_/.../-",
	}
	for i, key := range keys {
		put(t, s, key, []byte{byte(i)})
	}
	for i, key := range keys {
		require.Equal(t, []byte{byte(i)}, get(t, s, key), key)
		if path, ok := s.LocalPath(key); ok {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, []byte{byte(i)}, data)
		}
	}
	require.ElementsMatch(t, keys, list(t, s, ""))
	require.Equal(t, keys[1:2], list(t, s, orgA+"/"))
	require.Equal(t, keys[2:3], list(t, s, orgB+"/"))
	for _, key := range keys {
		require.NoError(t, s.Delete(t.Context(), key))
	}
	require.Empty(t, list(t, s, ""))
}

func testBadKeys(t *testing.T, s objstore.Store, _ Config) {
	ctx := t.Context()
	for _, key := range []string{"", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "a\\b", "a b", "a\x00b", "ä", "~tmp/x", "a%2Fb"} {
		_, err := s.Get(ctx, key)
		requireKind(t, fault.Invalid, err, key)
		_, err = s.GetRange(ctx, key, 0, 1)
		requireKind(t, fault.Invalid, err, key)
		_, err = s.Stat(ctx, key)
		requireKind(t, fault.Invalid, err, key)
		requireKind(t, fault.Invalid, s.Put(ctx, key, bytes.NewReader(nil), 0), key)
		requireKind(t, fault.Invalid, s.Delete(ctx, key), key)
		_, ok := s.LocalPath(key)
		require.False(t, ok, key)
	}
	for _, prefix := range []string{"a", "/", "../", "a//"} {
		requireKind(t, fault.Invalid, s.List(ctx, prefix, func(objstore.Entry) error { return nil }), prefix)
	}
}

func testRanges(t *testing.T, s objstore.Store, _ Config) {
	data := content(1000, 1)
	put(t, s, orgA+"/x", data)
	put(t, s, orgB+"/x", content(1000, 2))
	for _, c := range []struct{ off, length, end int }{
		{0, 1, 1},
		{0, 1000, 1000},
		{0, 5000, 1000},
		{10, 20, 30},
		{999, 1, 1000},
		{990, 100, 1000},
	} {
		r, err := s.GetRange(t.Context(), orgA+"/x", int64(c.off), int64(c.length))
		require.NoError(t, err)
		got, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, r.Close())
		require.Equal(t, data[c.off:c.end], got, "%d bytes at %d", c.length, c.off)
	}
	for _, c := range [][2]int64{{1000, 1}, {2000, 10}, {-1, 5}, {0, 0}, {0, -1}} {
		_, err := s.GetRange(t.Context(), orgA+"/x", c[0], c[1])
		requireKind(t, fault.Invalid, err, "%d bytes at %d", c[1], c[0])
	}

	buf := make([]byte, 100)
	require.NoError(t, objstore.ReadRange(t.Context(), s, orgA+"/x", 900, buf))
	require.Equal(t, data[900:], buf)
	require.ErrorIs(t, objstore.ReadRange(t.Context(), s, orgA+"/x", 950, buf), io.ErrUnexpectedEOF)
}

func testReplace(t *testing.T, s objstore.Store, _ Config) {
	put(t, s, orgA+"/x", content(100_000, 1))
	put(t, s, orgB+"/x", []byte("other"))
	put(t, s, orgA+"/x", []byte("new"))
	require.Equal(t, "new", string(get(t, s, orgA+"/x")))
	require.Equal(t, "other", string(get(t, s, orgB+"/x")))
	require.Len(t, list(t, s, ""), 2)
}

func testMissing(t *testing.T, s objstore.Store, _ Config) {
	ctx := t.Context()
	put(t, s, orgB+"/logs/x", []byte("1"))
	for _, key := range []string{orgA + "/logs/x", orgB + "/logs", orgB + "/logs/y", orgB + "/logs/x/y"} {
		_, err := s.Get(ctx, key)
		requireMissing(t, err, key)
		_, err = s.GetRange(ctx, key, 0, 1)
		requireMissing(t, err, key)
		_, err = s.Stat(ctx, key)
		requireMissing(t, err, key)
	}
	require.Empty(t, list(t, s, orgA+"/"))
	require.Empty(t, list(t, s, orgB+"/metrics/"))
}

func testPutFile(t *testing.T, s objstore.Store, cfg Config) {
	data := content(cfg.Large, 3)
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	require.NoError(t, s.PutFile(t.Context(), orgA+"/deep/er/x", path))
	require.NoError(t, s.PutFile(t.Context(), orgB+"/deep/er/x", path))
	require.NoError(t, os.Remove(path))
	require.True(t, bytes.Equal(data, get(t, s, orgA+"/deep/er/x")))
	require.NoError(t, s.Delete(t.Context(), orgA+"/deep/er/x"))
	require.True(t, bytes.Equal(data, get(t, s, orgB+"/deep/er/x")), "the two objects stand alone")
	require.Error(t, s.PutFile(t.Context(), orgA+"/y", path), "the file is gone")
}

func testList(t *testing.T, s objstore.Store, _ Config) {
	var want []string
	for i := range 25 {
		key := fmt.Sprintf("%s/logs/s%d/%d", orgA, i%3, i)
		want = append(want, key)
		put(t, s, key, nil)
	}
	put(t, s, orgA+"2/logs/not-below-a", nil)
	put(t, s, orgB+"/logs/s0/0", nil)

	require.ElementsMatch(t, want, list(t, s, orgA+"/"))
	require.ElementsMatch(t, want, list(t, s, orgA+"/logs/"))
	require.Len(t, list(t, s, orgA+"/logs/s0/"), 9)
	require.Equal(t, []string{orgB + "/logs/s0/0"}, list(t, s, orgB+"/"))
	require.Len(t, list(t, s, ""), 27)

	stop := errors.New("enough")
	visits := 0
	err := s.List(t.Context(), orgA+"/", func(e objstore.Entry) error {
		visits++
		require.False(t, e.Modified.IsZero())
		return stop
	})
	require.ErrorIs(t, err, stop)
	require.Equal(t, 1, visits)
}

func testDelete(t *testing.T, s objstore.Store, _ Config) {
	put(t, s, orgA+"/logs/x/1", []byte("1"))
	put(t, s, orgB+"/logs/x/1", []byte("1"))
	for range 2 { // a sweep may run twice
		require.NoError(t, s.Delete(t.Context(), orgA+"/logs/x/1"))
	}
	require.NoError(t, s.Delete(t.Context(), "never/was/there"))
	require.Equal(t, []string{orgB + "/logs/x/1"}, list(t, s, ""))
	put(t, s, orgA+"/logs/x/1", []byte("again"))
	require.Equal(t, "again", string(get(t, s, orgA+"/logs/x/1")))
}

// testConcurrentPuts lets writers replace one object while readers look: each sees one writer's whole object.
func testConcurrentPuts(t *testing.T, s objstore.Store, _ Config) {
	const size, writers, rounds = 50_000, 4, 5
	key := orgA + "/contended/x"
	put(t, s, key, content(size, 0))
	put(t, s, orgB+"/contended/x", []byte("mine"))
	var wg sync.WaitGroup
	errs := make(chan error, 2*writers*rounds)
	for w := range writers {
		wg.Go(func() {
			for range rounds {
				errs <- s.Put(t.Context(), key, bytes.NewReader(content(size, uint64(w))), size)
			}
		})
		wg.Go(func() {
			for range rounds {
				data, err := objstore.ReadAll(t.Context(), s, key)
				whole := slices.ContainsFunc([]uint64{0, 1, 2, 3}, func(w uint64) bool { return bytes.Equal(data, content(size, w)) })
				if err == nil && !whole {
					err = fmt.Errorf("a mixed object of %d bytes", len(data))
				}
				errs <- err
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, "mine", string(get(t, s, orgB+"/contended/x")))
}

// testConcurrentDeletes puts objects into a folder that is emptied all the time.
func testConcurrentDeletes(t *testing.T, s objstore.Store, _ Config) {
	const workers, rounds = 4, 20
	var wg sync.WaitGroup
	errs := make(chan error, workers*rounds)
	for w := range workers {
		wg.Go(func() {
			key := fmt.Sprintf("%s/folder/deep/%d", []string{orgA, orgB}[w%2], w)
			for range rounds {
				err := s.Put(t.Context(), key, bytes.NewReader([]byte("x")), 1)
				_, statErr := s.Stat(t.Context(), key)
				errs <- errors.Join(err, statErr, s.Delete(t.Context(), key))
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.Empty(t, list(t, s, ""))
}

func testCanceled(t *testing.T, s objstore.Store, _ Config) {
	put(t, s, orgA+"/x", []byte("1"))
	put(t, s, orgB+"/x", []byte("2"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Get(ctx, orgA+"/x")
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Stat(ctx, orgA+"/x")
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, s.Put(ctx, orgA+"/x", bytes.NewReader([]byte("3")), 1), context.Canceled)
	require.ErrorIs(t, s.Delete(ctx, orgB+"/x"), context.Canceled)
	require.ErrorIs(t, s.List(ctx, "", func(objstore.Entry) error { return nil }), context.Canceled)
	require.Equal(t, "1", string(get(t, s, orgA+"/x")))
	require.Equal(t, "2", string(get(t, s, orgB+"/x")))
}

func testShortContent(t *testing.T, s objstore.Store, _ Config) {
	put(t, s, orgB+"/x", []byte("2"))
	require.Error(t, s.Put(t.Context(), orgA+"/x", bytes.NewReader([]byte("12345")), 10))
	require.Equal(t, []string{orgB + "/x"}, list(t, s, ""))
}

func put(t *testing.T, s objstore.Store, key string, data []byte) {
	t.Helper()
	require.NoError(t, s.Put(t.Context(), key, bytes.NewReader(data), int64(len(data))))
}

func get(t *testing.T, s objstore.Store, key string) []byte {
	t.Helper()
	data, err := objstore.ReadAll(t.Context(), s, key)
	require.NoError(t, err)
	return data
}

func list(t *testing.T, s objstore.Store, prefix string) []string {
	t.Helper()
	var keys []string
	require.NoError(t, s.List(t.Context(), prefix, func(e objstore.Entry) error {
		keys = append(keys, e.Key)
		return nil
	}))
	return keys
}

// content returns size bytes that no other writer's content shares.
func content(size int, writer uint64) []byte {
	data := make([]byte, size)
	source := rand.NewChaCha8([32]byte{byte(writer)})
	_, _ = source.Read(data) // it never fails
	return data
}

func requireKind(t *testing.T, kind fault.Kind, err error, about ...any) {
	t.Helper()
	require.Error(t, err, about...)
	require.Equal(t, kind, fault.KindOf(err), about...)
}

func requireMissing(t *testing.T, err error, key string) {
	t.Helper()
	require.ErrorIs(t, err, objstore.ErrNotFound, key)
	requireKind(t, fault.NotFound, err, key)
}
