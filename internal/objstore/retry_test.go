package objstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/objstore"
	"github.com/millstream/millstream/internal/objstore/faultstore"
)

// Retry is tested in a synctest bubble: its waits take no time there.

func TestRetryRepeatsWhatIsUnavailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		faults := faultstore.New(objstore.NewMemory(nil), 1)
		s := objstore.Retry(objstore.Instrument(faults, reg), objstore.RetryOptions{Tries: 3})

		faults.Set(
			faultstore.Rule{Op: faultstore.Put, Nth: 1, Err: faultstore.ErrInjected},
			faultstore.Rule{Op: faultstore.Put, Nth: 1, Err: faultstore.ErrInjected, After: true},
		)
		require.NoError(t, s.Put(t.Context(), "org/x", bytes.NewReader([]byte("abc")), 3))

		faults.Set(faultstore.Rule{Op: faultstore.Get, Err: faultstore.ErrInjected})
		_, err := s.Get(t.Context(), "org/x")
		require.ErrorIs(t, err, faultstore.ErrInjected)
		_, err = s.Get(t.Context(), "org/y")
		require.ErrorIs(t, err, faultstore.ErrInjected)

		require.NoError(t, testutil.CollectAndCompare(collector{reg}, bytes.NewReader([]byte(`
# HELP millstream_objstore_failures_total Operations that failed. Missing objects and callers that left are not failures.
# TYPE millstream_objstore_failures_total counter
millstream_objstore_failures_total{op="delete"} 0
millstream_objstore_failures_total{op="get"} 6
millstream_objstore_failures_total{op="get_range"} 0
millstream_objstore_failures_total{op="list"} 0
millstream_objstore_failures_total{op="put"} 2
millstream_objstore_failures_total{op="stat"} 0
`)), "millstream_objstore_failures_total"))
	})
}

func TestRetryGivesUpAtOnceOnOtherErrors(t *testing.T) {
	t.Parallel()
	faults := faultstore.New(objstore.NewMemory(nil), 1, faultstore.Rule{Nth: 1, Err: errors.New("broken for good")})
	s := objstore.Retry(faults, objstore.RetryOptions{})
	require.ErrorContains(t, s.Delete(t.Context(), "org/x"), "broken for good")
	_, err := s.Stat(t.Context(), "org/x")
	require.ErrorIs(t, err, objstore.ErrNotFound)
}

func TestRetryEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		faults := faultstore.New(objstore.NewMemory(nil), 1, faultstore.Rule{Err: faultstore.ErrInjected})
		s := objstore.Retry(faults, objstore.RetryOptions{Tries: 1000, MinWait: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := s.Delete(ctx, "org/x")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, faultstore.ErrInjected, "the reason for waiting is told")
	})
}

func TestListIsRepeatedOnlyBeforeItsFirstEntry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory := objstore.NewMemory(nil)
		require.NoError(t, memory.Put(t.Context(), "org/x", bytes.NewReader(nil), 0))
		faults := faultstore.New(memory, 1, faultstore.Rule{Nth: 1, Err: faultstore.ErrInjected})
		s := objstore.Retry(faults, objstore.RetryOptions{})
		visits := 0
		count := func(objstore.Entry) error { visits++; return nil }
		require.NoError(t, s.List(t.Context(), "", count))
		require.Equal(t, 1, visits)

		faults.Set(faultstore.Rule{Nth: 1, Err: faultstore.ErrInjected, After: true})
		require.ErrorIs(t, s.List(t.Context(), "", count), faultstore.ErrInjected)
		require.Equal(t, 2, visits)
	})
}

func TestBrokenReadsGoOn(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("0123456789"), 1000)
	for _, every := range []int{1, 7, 100, 4096, 9999, 10_000} {
		t.Run(fmt.Sprint("break after ", every), func(t *testing.T) {
			t.Parallel()
			memory := objstore.NewMemory(nil)
			require.NoError(t, memory.Put(t.Context(), "org/x", bytes.NewReader(data), int64(len(data))))
			s := objstore.Retry(breaking{memory, every}, objstore.RetryOptions{})
			got, err := objstore.ReadAll(t.Context(), s, "org/x")
			require.NoError(t, err)
			require.Equal(t, data, got)

			part := make([]byte, 5000)
			require.NoError(t, objstore.ReadRange(t.Context(), s, "org/x", 1234, part))
			require.Equal(t, data[1234:6234], part)
		})
	}
}

func TestAReadThatNeverMovesEnds(t *testing.T) {
	t.Parallel()
	memory := objstore.NewMemory(nil)
	require.NoError(t, memory.Put(t.Context(), "org/x", bytes.NewReader([]byte("abc")), 3))
	_, err := objstore.ReadAll(t.Context(), objstore.Retry(breaking{memory, 0}, objstore.RetryOptions{}), "org/x")
	require.ErrorIs(t, err, errBroken)
}

var errBroken = fault.New(fault.Unavailable, "the connection broke")

// breaking is a store whose bodies break after some bytes.
type breaking struct {
	objstore.Store
	after int
}

func (b breaking) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	return b.wrap(b.Store.Get(ctx, key))
}

func (b breaking) GetRange(ctx context.Context, key string, off, length int64) (io.ReadCloser, error) {
	return b.wrap(b.Store.GetRange(ctx, key, off, length))
}

func (b breaking) wrap(r io.ReadCloser, err error) (io.ReadCloser, error) {
	if err != nil {
		return nil, err
	}
	short := io.MultiReader(io.LimitReader(r, int64(b.after)), iotest.ErrReader(errBroken))
	return struct {
		io.Reader
		io.Closer
	}{short, r}, nil
}

// collector lets testutil read a whole registry.
type collector struct{ *prometheus.Registry }

func (c collector) Describe(chan<- *prometheus.Desc) {}
