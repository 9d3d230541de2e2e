package rowfind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/millstream/millstream/internal/columnar/parquetfile"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
)

// File is a data file of a search.
type File struct {
	Path string // on this machine
	ID   int64  // number that no other file has
	// Groups are the row groups that may be read; nil means all.
	Groups []int
	// Slices are, by row group, the masks of the slices (package searchindex) in which wanted rows can be; nil means all.
	Slices     []uint8
	Conditions []Condition
	// Columns name, for each of Query.Fields, the column of the file that holds it; empty where the file has none.
	Columns []string
}

// Field is a wanted column.
type Field struct {
	Name string // of the record
	Type signal.Type
}

// Order is the end of time that is wanted first.
type Order uint8

// The orders.
const (
	Unordered Order = iota
	Newest
	Oldest
)

// Query is what is looked for.
type Query struct {
	Files      []File
	Start, End int64 // event time in microseconds, End exclusive
	Fields     []Field
	Nanos      bool // the digits below a microsecond are wanted
	Order      Order
	MaxRows    int   // more are not found
	Unit       int64 // of Count: microseconds that times are cut down to a multiple of; 0 = the time is not asked for
	MaxBytes   int64 // of the rows' values, about
}

// Stats is what a search has read so far of files that are not left to the engine.
type Stats struct {
	RowGroups int   // of which some column was read
	Rows      int64 // of those row groups
	Bytes     int64 // read of the files
}

// Search is a search under way. It must be closed.
type Search struct {
	query   Query
	files   []*openFile
	todo    []task // row groups not looked at yet, in order
	hits    []*hit
	workers []*worker
	footers *Footers
}

type openFile struct {
	*File
	index  int // in Query.Files
	file   *os.File
	footer *parquetfile.File
	time   int   // column
	nanos  int   // column, -1 when there is none
	fields []int // by field, -1 when there is none
	tests  []int // columns, by condition
	left   bool  // to the engine
	stats  Stats
}

// task is a row group to look at.
type task struct {
	file      *openFile
	group     int
	low, high int64 // bounds of its times
}

// New opens the files of a query. A file that is not of our own encoder is left out (Found.Left).
func New(footers *Footers, q Query) (*Search, error) {
	s := &Search{query: q, footers: footers}
	for i := range q.Files {
		f, err := open(footers, &q, i)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.files = append(s.files, f)
		if f.left {
			continue
		}
		groups := f.Groups
		if groups == nil {
			for g := range f.footer.Groups() {
				groups = append(groups, g)
			}
		}
		for _, g := range groups {
			s.addTask(f, g)
		}
	}
	switch q.Order {
	case Newest:
		slices.SortStableFunc(s.todo, func(a, b task) int { return cmp.Compare(b.high, a.high) })
	case Oldest:
		slices.SortStableFunc(s.todo, func(a, b task) int { return cmp.Compare(a.low, b.low) })
	default:
	}
	return s, nil
}

// addTask takes up a row group unless its statistics say that it has nothing.
func (s *Search) addTask(f *openFile, group int) {
	if f.left || group < 0 || group >= f.footer.Groups() {
		f.left = true // an index of another file: the engine will see
		return
	}
	low, high, ok := f.footer.IntBounds(group, f.time)
	if !ok {
		f.left = true
		return
	}
	if high < s.query.Start || low >= s.query.End {
		return
	}
	for i := range f.Conditions {
		if !f.Conditions[i].mayHold(f.footer, group, f.tests[i]) {
			return
		}
	}
	s.todo = append(s.todo, task{f, group, low, high})
}

// open opens a file of the query. It is left to the engine where its columns are not what the query says.
func open(footers *Footers, q *Query, index int) (*openFile, error) {
	f := &openFile{File: &q.Files[index], index: index, nanos: -1}
	var err error
	if f.file, err = os.Open(f.Path); err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "open a data file")
	}
	if f.footer, err = footers.get(f.ID, f.file); err != nil {
		if fault.Is(err, fault.Unsupported) {
			f.left = true
			return f, nil
		}
		return nil, errors.Join(err, f.file.Close())
	}
	columns := f.footer.Columns()
	find := func(name string, kind parquetfile.Kind) int {
		i := f.footer.Column(name)
		f.left = f.left || i < 0 || columns[i].Kind != kind
		return i
	}
	f.time = find(signal.TimeColumn, parquetfile.Timestamp)
	if q.Nanos && f.footer.Column(signal.NanosColumn) >= 0 {
		f.nanos = find(signal.NanosColumn, parquetfile.Int16)
	}
	for i, name := range f.Columns {
		at := -1
		if name != "" {
			at = find(name, kindOf(q.Fields[i].Type))
		}
		f.fields = append(f.fields, at)
	}
	for i := range f.Conditions {
		at := f.footer.Column(f.Conditions[i].Column)
		f.left = f.left || at < 0 || !f.Conditions[i].fits(columns[max(at, 0)].Kind)
		f.tests = append(f.tests, at)
	}
	return f, nil
}

// Close closes the files.
func (s *Search) Close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.file.Close())
	}
	for _, w := range s.workers {
		s.footers.scratch.Put(w.scratch)
	}
	s.files, s.workers = nil, nil
	return errors.Join(errs...)
}

// Stats returns what was read.
func (s *Search) Stats() Stats {
	var out Stats
	for _, f := range s.files {
		if !f.left {
			out.RowGroups += f.stats.RowGroups
			out.Rows += f.stats.Rows
			out.Bytes += f.stats.Bytes
		}
	}
	return out
}

// run looks at tasks on all processors, until one fails or enough says so.
func (s *Search) run(ctx context.Context, tasks []task, enough func(*hit) bool) error {
	var mu sync.Mutex
	return s.each(ctx, tasks, func(w *worker, t *task) (bool, error) {
		h, err := w.look(t)
		if err != nil {
			return true, err
		}
		mu.Lock()
		defer mu.Unlock()
		s.hits = append(s.hits, h)
		h.file.stats.RowGroups++
		h.file.stats.Rows += int64(h.file.footer.Rows(h.group))
		h.count()
		return enough(h), nil
	})
}

// each gives the tasks to the workers, as many as there are processors, until one says to stop or fails.
func (s *Search) each(ctx context.Context, tasks []task, do func(w *worker, t *task) (stop bool, err error)) error {
	for len(s.workers) < min(runtime.GOMAXPROCS(0), len(tasks)) {
		w, err := s.newWorker()
		if err != nil {
			return err
		}
		s.workers = append(s.workers, w)
	}
	var group sync.WaitGroup
	var next atomic.Int64
	var stop atomic.Bool
	errs := make([]error, len(s.workers))
	for i, w := range s.workers {
		group.Go(func() {
			for !stop.Load() {
				at := int(next.Add(1)) - 1
				if at >= len(tasks) {
					return
				}
				enough, err := false, context.Cause(ctx)
				if err == nil {
					enough, err = do(w, &tasks[at])
				}
				if errs[i] = err; enough || err != nil {
					stop.Store(true)
				}
			}
		})
	}
	group.Wait()
	return cmp.Or(errs...)
}

// complete reads what the hits still lack of the wanted columns, on all processors. It is false when the values are more than the query
// allows.
func (s *Search) complete(ctx context.Context, hits []*hit) (bool, error) {
	var group sync.WaitGroup
	var total atomic.Int64
	errs := make([]error, len(s.workers))
	for i, w := range s.workers {
		group.Go(func() {
			for at := i; at < len(hits) && errs[i] == nil && total.Load() <= s.query.MaxBytes; at += len(s.workers) {
				if errs[i] = context.Cause(ctx); errs[i] == nil {
					errs[i] = w.complete(hits[at])
					total.Add(hits[at].bytes)
				}
			}
		})
	}
	group.Wait()
	for _, h := range hits {
		h.count()
	}
	if err := errors.Join(errs...); err != nil {
		return false, fmt.Errorf("read found rows: %w", err)
	}
	return total.Load() <= s.query.MaxBytes, nil
}
