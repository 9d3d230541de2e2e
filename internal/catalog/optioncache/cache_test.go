package optioncache_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/optioncache"
	"github.com/millstream/millstream/internal/clock"
)

// source is a catalog whose answer can be changed, or be an error.
type source struct {
	mu   sync.Mutex
	list []catalog.Database
	err  error
	asks int
}

func (s *source) DatabasesWithOptions(context.Context) ([]catalog.Database, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asks++
	return s.list, s.err
}

func (s *source) set(err error, list ...catalog.Database) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list, s.err = list, err
}

func limited(rate string) catalog.Database {
	return catalog.Database{ID: 7, Org: "acme", Name: "d", Options: map[string]string{"rate": rate}}
}

func TestFreshWithinASecondAndKeptInAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &source{list: []catalog.Database{limited("1")}}
		changes := 0
		c := optioncache.New(s, optioncache.Options{Clock: clock.System{}, Changed: func() { changes++ }})
		rate := func() string { return c.Database("acme", "d").Options["rate"] }
		require.Empty(t, rate())
		require.NoError(t, c.Load(t.Context()))
		require.Equal(t, "1", rate())
		require.Empty(t, c.Database("other", "d").Options, "of one org alone")

		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.Run(ctx) }()
		s.set(nil, limited("2"))
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, "2", rate())
		require.Equal(t, 2, changes, "readings that say the same are no change")

		s.set(errors.New("away"))
		time.Sleep(time.Hour)
		require.Equal(t, "2", rate())
		s.set(nil)
		c.Soon()
		synctest.Wait()
		require.Empty(t, rate())
		require.Equal(t, 3, changes)
		stop()
		require.NoError(t, <-done)
	})
}
