package compactor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/compactor"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/objstore"
	"github.com/millstream/millstream/internal/tenant"
)

// errKilled is what every call of a dead process gets: nothing it does has an effect any more.
var errKilled = fault.New(fault.Unavailable, "the process is dead")

// life is that of a process that is killed before or after its nth step, a call that changes the catalog or the store.
type life struct {
	mu    sync.Mutex
	left  int  // steps until the kill; 0 = it lives for ever
	after bool // the last step takes effect
	steps []string
	dead  bool
}

// step does a call that changes something.
func (l *life) step(name string, effect func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return errKilled
	}
	l.steps = append(l.steps, name)
	if len(l.steps) != l.left {
		return effect()
	}
	l.dead = true
	if l.after {
		return errors.Join(effect(), errKilled)
	}
	return errKilled
}

// look does a call that changes nothing.
func (l *life) look() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return errKilled
	}
	return nil
}

// mortalCatalog is the catalog as a process sees it that is killed.
type mortalCatalog struct {
	compactor.Catalog
	life *life
}

func (m mortalCatalog) Datasets(ctx context.Context, org tenant.ID) ([]catalog.Dataset, error) {
	if err := m.life.look(); err != nil {
		return nil, err
	}
	return m.Catalog.Datasets(ctx, org)
}

func (m mortalCatalog) Retired(ctx context.Context, before time.Time, limit int) ([]catalog.Segment, error) {
	if err := m.life.look(); err != nil {
		return nil, err
	}
	return m.Catalog.Retired(ctx, before, limit)
}

func (m mortalCatalog) NextSegments(ctx context.Context, n int) (id catalog.SegmentID, err error) {
	err = m.life.step("draw a number", func() error {
		id, err = m.Catalog.NextSegments(ctx, n)
		return err
	})
	return id, err
}

func (m mortalCatalog) Replace(ctx context.Context, d catalog.DatasetID, old []catalog.SegmentID, added []catalog.Segment) error {
	return m.life.step("replace", func() error { return m.Catalog.Replace(ctx, d, old, added) })
}

func (m mortalCatalog) SetIndex(ctx context.Context, id catalog.SegmentID, old, key string, size int64) error {
	return m.life.step("set index", func() error { return m.Catalog.SetIndex(ctx, id, old, key, size) })
}

func (m mortalCatalog) Forget(ctx context.Context, ids []catalog.SegmentID) error {
	return m.life.step("forget", func() error { return m.Catalog.Forget(ctx, ids) })
}

// mortalStore is the object store as a process sees it that is killed.
type mortalStore struct {
	objstore.Store
	life *life
}

func (m mortalStore) Put(ctx context.Context, key string, r io.ReaderAt, size int64) error {
	return m.life.step("upload an index", func() error { return m.Store.Put(ctx, key, r, size) })
}

func (m mortalStore) PutFile(ctx context.Context, key, path string) error {
	return m.life.step("upload a file", func() error { return m.Store.PutFile(ctx, key, path) })
}

func (m mortalStore) Delete(ctx context.Context, key string) error {
	return m.life.step("delete an object", func() error { return m.Store.Delete(ctx, key) })
}

func (m mortalStore) List(ctx context.Context, prefix string, visit func(objstore.Entry) error) error {
	if err := m.life.look(); err != nil {
		return err
	}
	return m.Store.List(ctx, prefix, visit)
}

// lead is the life of a dataset's files: merged, their sources deleted and forgotten, an index built, leftovers swept. Errors are the
// caller's to judge by what is left.
func (p *plant) lead(l *life) error {
	c := compactor.New(compactor.Options{StagingDir: p.TempDir()}, compactor.Deps{
		Catalog: mortalCatalog{p.catalog, l}, Objects: mortalStore{p.store, l}, Files: p, Clock: p.clock,
	})
	errs := []error{c.Seal(p.Context()), c.Compact(p.Context())}
	p.clock.Advance(compactor.DefaultDeletionGrace + time.Second)
	return errors.Join(append(errs, c.Delete(p.Context()), c.Reconcile(p.Context()), c.RebuildIndexes(p.Context()))...)
}

// prepare makes a dataset that is due for everything: three files of a closed day, and one alone without an index.
func prepare(t *testing.T) (p *plant, rows int) {
	t.Helper()
	p = newPlant(t)
	p.indexed = true
	day := p.clock.Now().AddDate(0, 0, -2)
	for i := range 3 {
		p.flush(day.Add(time.Duration(i)*time.Minute), i*10, 10)
	}
	p.indexed = false
	p.flush(day.AddDate(0, 0, -1), 30, 10)
	return p, 40
}

// TestKilledAtEveryStep kills the process before and after every step that changes something. Whenever it is, each row is there once, at
// once and after another process has gone on; in the end nothing is left over.
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	whole := &life{}
	p, rows := prepare(t)
	require.NoError(t, p.lead(whole))
	p.requireDone(rows)
	t.Log(whole.steps)
	require.Subset(t, whole.steps, []string{
		"draw a number", "upload a file", "upload an index", "replace", "delete an object", "forget", "set index",
	})
	for n := range whole.steps {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d %s %v", n+1, whole.steps[n], after), func(t *testing.T) {
				t.Parallel()
				p, rows := prepare(t)
				l := &life{left: n + 1, after: after}
				require.ErrorIs(t, p.lead(l), errKilled)
				p.requireOnce(rows)
				require.NoError(t, p.lead(&life{}))
				p.requireOnce(rows)
				for key := range p.objects() {
					p.age(key)
				}
				p.clock.Advance(2 * time.Hour)
				require.NoError(t, p.lead(&life{}))
				p.requireDone(rows)
			})
		}
	}
}

// requireDone checks that all work of prepare is done.
func (p *plant) requireDone(rows int) {
	p.Helper()
	require.Len(p, p.requireOnce(rows), 2)
	p.requireIndexes()
	p.requireNoLeftovers()
	retired, err := p.catalog.Retired(p.Context(), p.clock.Now().AddDate(1, 0, 0), 10)
	require.NoError(p, err)
	require.Empty(p, retired)
}
