package promstore

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/columnar"
)

// maxTableValues bounds the values of all label tables in memory, 16 bytes each since equal ones are shared.
const maxTableValues = 8_000_000

// tables remembers the label tables of segments, which never change.
type tables struct {
	mu struct {
		sync.Mutex
		bySegment map[catalog.SegmentID]*columnar.LabelTable // nil for a file without one
		shared    map[string]string
		values    int
	}
}

func newTables() *tables {
	t := &tables{}
	t.clear()
	return t
}

// clear forgets everything. The caller has the lock, or nobody else the tables.
func (t *tables) clear() {
	t.mu.bySegment = make(map[catalog.SegmentID]*columnar.LabelTable)
	t.mu.shared = make(map[string]string)
	t.mu.values = 0
}

func (t *tables) get(id catalog.SegmentID) (table *columnar.LabelTable, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	table, ok = t.mu.bySegment[id]
	return table, ok
}

// put remembers a table after sharing its texts with those of others.
func (t *tables) put(id catalog.SegmentID, table *columnar.LabelTable) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if table != nil {
		for _, values := range table.Values {
			t.mu.values += len(values)
			for i, v := range values {
				if s, ok := t.mu.shared[v]; ok {
					values[i] = s
				} else {
					t.mu.shared[v] = v
				}
			}
		}
	}
	if t.mu.values > maxTableValues {
		t.clear()
		return
	}
	t.mu.bySegment[id] = table
}

// load returns the label tables of segments; nil for one that must be read row by row.
func (t *tables) load(ctx context.Context, q *querier, segments []catalog.Segment) (map[catalog.SegmentID]*columnar.LabelTable, error) {
	out := make(map[catalog.SegmentID]*columnar.LabelTable, len(segments))
	var missing []catalog.Segment
	for _, s := range segments {
		if table, ok := t.get(s.ID); ok {
			out[s.ID] = table
		} else {
			missing = append(missing, s)
		}
	}
	paths, err := q.picture.pin(ctx, q.store.deps.Files, missing)
	if err != nil {
		return nil, err
	}
	for i, s := range missing {
		table, err := q.store.readTable(s.ID, paths[i])
		if err != nil {
			return nil, fmt.Errorf("read segment %d: %w", s.ID, err)
		}
		t.put(s.ID, table)
		out[s.ID] = table
	}
	return out, nil
}

func (s *Store) readTable(id catalog.SegmentID, path string) (*columnar.LabelTable, error) {
	f, err := s.seriesFile(id, path)
	if err != nil {
		return nil, err
	}
	return f.Labels()
}

// allTexts returns label names, or the values of one label, of everything in the querier's time: of whole files by their tables, so a
// file that lies in that time in part counts as a whole, as a block does in Prometheus.
func (q *querier) allTexts(ctx context.Context, ofTable func(*columnar.LabelTable, func(string)), ofSeries func(*series, func(string))) (
	map[string]struct{}, error,
) {
	found := make(map[string]struct{})
	add := func(text string) { found[text] = struct{}{} }
	c := newCollector(newSelector(nil), q.picture.horizon, q.mint, q.maxt)
	c.limits, c.loaded = q.limits, &q.loaded
	oldest := q.picture.horizon.oldest("")
	segments := slices.DeleteFunc(slices.Clone(q.picture.segments), func(s catalog.Segment) bool {
		return !c.mayHold(&s) || millisOf(s.MaxTime) < oldest
	})
	rest := segments
	if len(q.picture.names.metricOptions) == 0 { // else some metrics of a file may have expired
		byID, err := q.store.tables.load(ctx, q, segments)
		if err != nil {
			return nil, err
		}
		rest = nil
		for _, s := range segments {
			if table := byID[s.ID]; table != nil && table.Plain {
				ofTable(table, add)
			} else {
				rest = append(rest, s)
			}
		}
	}
	if err := c.run(ctx, q, rest); err != nil {
		return nil, err
	}
	for _, s := range c.order {
		ofSeries(s, add)
	}
	return found, nil
}

// valuesOf and namesOf read a table; those of series do the same.
func valuesOf(name string) func(*columnar.LabelTable, func(string)) {
	return func(t *columnar.LabelTable, add func(string)) {
		for _, v := range t.Values[name] {
			add(v)
		}
	}
}

func namesOf(t *columnar.LabelTable, add func(string)) {
	for name := range t.Values {
		add(name)
	}
}

func seriesValues(name string) func(*series, func(string)) {
	return func(s *series, add func(string)) {
		if v := s.lset.Get(name); v != "" {
			add(v)
		}
	}
}

func seriesNames(s *series, add func(string)) {
	s.lset.Range(func(l labels.Label) { add(l.Name) })
}
