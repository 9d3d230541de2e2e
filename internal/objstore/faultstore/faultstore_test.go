package faultstore_test

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/objstore"
	"github.com/millstream/millstream/internal/objstore/faultstore"
)

func TestRulesPickOperations(t *testing.T) {
	t.Parallel()
	memory := objstore.NewMemory(nil)
	s := faultstore.New(memory, 1,
		faultstore.Rule{Op: faultstore.Put, Keys: "a/*", Nth: 2, Err: faultstore.ErrInjected},
		faultstore.Rule{Op: faultstore.Delete, After: true, Err: faultstore.ErrInjected},
	)
	put := func(key string) error { return s.Put(t.Context(), key, bytes.NewReader([]byte("1")), 1) }
	require.NoError(t, put("a/1"))
	require.NoError(t, put("b/1"), "another key does not count")
	require.ErrorIs(t, put("a/2"), faultstore.ErrInjected)
	require.NoError(t, put("a/3"))
	_, err := memory.Stat(t.Context(), "a/2")
	require.ErrorIs(t, err, objstore.ErrNotFound, "it failed before it took effect")

	require.ErrorIs(t, s.Delete(t.Context(), "a/1"), faultstore.ErrInjected)
	_, err = memory.Stat(t.Context(), "a/1")
	require.ErrorIs(t, err, objstore.ErrNotFound, "it failed after it took effect")

	s.Set()
	require.NoError(t, s.Delete(t.Context(), "a/1"))
}

func TestASeedDecidesAlike(t *testing.T) {
	t.Parallel()
	outcomes := func(seed uint64) (failed []int) {
		s := faultstore.New(objstore.NewMemory(nil), seed, faultstore.Rule{Probability: 0.5, Err: faultstore.ErrInjected})
		for i := range 64 {
			if s.Delete(t.Context(), "a") != nil {
				failed = append(failed, i)
			}
		}
		return failed
	}
	first, again, other := outcomes(1), outcomes(1), outcomes(2)
	require.Equal(t, first, again)
	require.NotEqual(t, first, other)
	require.NotEmpty(t, first)
	require.Less(t, len(first), 64)
}

func TestADelayEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := faultstore.New(objstore.NewMemory(nil), 1, faultstore.Rule{Delay: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, s.Delete(ctx, "a"), context.DeadlineExceeded)
		require.NoError(t, s.Delete(t.Context(), "a"))
	})
}
