package frontend_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/fairqueue"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/frontend"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/merge"
	"github.com/millstream/millstream/internal/tenant"
)

// A question of a day in hours; splitting makes partStatement of wholeStatement.
const (
	wholeStatement = "SELECT whole"
	partStatement  = "SELECT part"
)

// texts is a record of one column of texts.
func texts(m memory.Allocator, values ...string) arrow.RecordBatch {
	field := arrow.Field{Name: "k", Type: arrow.BinaryTypes.String, Nullable: true, Metadata: arrow.NewMetadata([]string{answer.TypeKey},
		[]string{"VARCHAR"})}
	b := array.NewRecordBuilder(m, arrow.NewSchema([]arrow.Field{field}, nil))
	defer b.Release()
	for _, v := range values {
		b.Field(0).(*array.StringBuilder).Append(v) //nolint:forcetypeassert // of that type
	}
	return b.NewRecordBatch()
}

// days answers a question as a whole with the row "whole", and its parts with what part returns.
type days struct {
	split  answer.Split
	part   func(hour int) []arrow.RecordBatch // one more reference each is taken
	err    error                              // of Split
	panics bool

	splits  atomic.Int64
	records atomic.Int64 // handed out for parts
	bytes   atomic.Int64 // likewise
}

func (d *days) Split(context.Context, answer.Question) (*answer.Split, error) {
	d.splits.Add(1)
	if d.panics {
		panic("in the splitter")
	}
	if d.err != nil {
		return nil, d.err
	}
	s := d.split
	s.Statement, s.Now = partStatement, time.Unix(86400, 0).UTC()
	s.Start, s.End = time.Unix(0, 0).UTC(), time.Unix(86400, 0).UTC()
	return &s, nil
}

func (d *days) Ask(_ context.Context, q answer.Question) (answer.Result, error) {
	if q.Statement == wholeStatement {
		r := texts(memory.DefaultAllocator, "whole")
		return &handOut{records: []arrow.RecordBatch{r}, schema: r.Schema(), given: func(int64) {}}, nil
	}
	records := d.part(max(int(q.Start.Unix()/3600), 0)) // the first part has no start, as the question
	return &handOut{records: records, schema: records[0].Schema(), given: func(n int64) {
		d.records.Add(1)
		d.bytes.Add(n)
	}}, nil
}

type handOut struct {
	nothing

	schema  *arrow.Schema
	records []arrow.RecordBatch
	given   func(bytes int64)
}

func (h *handOut) Schema() *arrow.Schema { return h.schema }

func (h *handOut) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(h.records) == 0 {
		return nil, io.EOF
	}
	r := h.records[0]
	h.records = h.records[1:]
	r.Retain()
	h.given(int64(r.Column(0).Data().Buffers()[2].Len()))
	return r, nil
}

func (d *days) frontend(capacity int) *frontend.Frontend {
	l := limits.Default()
	l.SplitQueriesByInterval, l.MaxQueryParallelism = time.Hour, 4
	return frontend.New(frontend.Deps{
		Queue: fairqueue.New(fairqueue.Options{Capacity: capacity}), SQL: d, Splitter: d,
		Limits: func(tenant.ID) limits.Limits { return l },
	})
}

// answerOf returns the texts of an answer.
func answerOf(t *testing.T, f *frontend.Frontend) []string {
	t.Helper()
	r, err := f.Ask(t.Context(), sql(wholeStatement))
	require.NoError(t, err)
	return textsOf(t, r)
}

// textsOf reads an answer and closes it.
func textsOf(t *testing.T, r answer.Result) (out []string) {
	t.Helper()
	defer func() { require.NoError(t, r.Close()) }()
	for {
		record, err := r.Next(t.Context())
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			return out
		}
		for i := range int(record.NumRows()) {
			out = append(out, record.Column(0).ValueStr(i))
		}
		record.Release()
	}
}

// repeated is the same record many times, as a part that holds that much.
func repeated(r arrow.RecordBatch, n int) []arrow.RecordBatch {
	out := make([]arrow.RecordBatch, n)
	for i := range out {
		out[i] = r
	}
	return out
}

var oneKey = &answer.SplitGroups{Limit: -1, Columns: []answer.SplitColumn{{Merge: answer.MergeKey}}}

// TestAPartOfTooManyGroupsIsStopped answers a part with many more groups than can be put together: it is left after as many rows as there
// may be groups, and the whole is asked.
func TestAPartOfTooManyGroupsIsStopped(t *testing.T) {
	t.Parallel()
	m := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer m.AssertSize(t, 0)
	const rows = 10_000
	r := texts(m, make([]string, rows)...)
	defer r.Release()
	one := texts(m, "x")
	defer one.Release()
	d := &days{split: answer.Split{Groups: oneKey}, part: func(hour int) []arrow.RecordBatch {
		if hour == 1 {
			return repeated(r, 1000)
		}
		return []arrow.RecordBatch{one}
	}}
	require.Equal(t, []string{"whole"}, answerOf(t, d.frontend(4)))
	require.LessOrEqual(t, d.records.Load(), int64(merge.MaxGroups/rows+1+24))
}

// TestPartsTogetherAreHeldWithinBounds answers parts with more bytes than a query may hold of them: they are stopped at the bound, each
// after a record more at most, and the whole is asked.
func TestPartsTogetherAreHeldWithinBounds(t *testing.T) {
	t.Parallel()
	const size, most, parallel = 1 << 20, 64 << 20, 4
	for name, split := range map[string]answer.Split{
		"groups": {Groups: oneKey}, "rows": {Rows: &answer.SplitRows{Limit: 10_000}},
	} {
		m := memory.NewCheckedAllocator(memory.DefaultAllocator)
		r := texts(m, strings.Repeat("x", size))
		for _, each := range []int{10, 200} { // many parts of them, or one, are too many
			d := &days{split: split, part: func(int) []arrow.RecordBatch { return repeated(r, each) }}
			if name == "groups" && each == 10 {
				require.Len(t, answerOf(t, d.frontend(4)), 1, "parts that were put together are not held any more")
				require.EqualValues(t, 24*each, d.records.Load())
				continue
			}
			require.Equal(t, []string{"whole"}, answerOf(t, d.frontend(4)), name)
			require.LessOrEqual(t, d.bytes.Load(), int64(most+2*parallel*size), name)
		}
		r.Release()
		m.AssertSize(t, 0)
	}
}

// TestGroupsThatAreHeldCount has parts of few groups with long keys, all different.
func TestGroupsThatAreHeldCount(t *testing.T) {
	t.Parallel()
	d := &days{split: answer.Split{Groups: oneKey}, part: func(hour int) []arrow.RecordBatch {
		return []arrow.RecordBatch{texts(memory.DefaultAllocator, fmt.Sprintf("%d%s", hour, strings.Repeat("x", 4<<20)))}
	}}
	require.Equal(t, []string{"whole"}, answerOf(t, d.frontend(4)))
	require.Less(t, d.records.Load(), int64(24))
}

// TestRowsOfPartsThatFitAreTheAnswer takes rows of three parts, the last of them in pieces.
func TestRowsOfPartsThatFitAreTheAnswer(t *testing.T) {
	t.Parallel()
	m := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer m.AssertSize(t, 0)
	records := make([]arrow.RecordBatch, 24)
	for i := range records {
		records[i] = texts(m, fmt.Sprintf("%da", i), fmt.Sprintf("%db", i))
		defer records[i].Release()
	}
	d := &days{split: answer.Split{Rows: &answer.SplitRows{Limit: 4, Offset: 1}}, part: func(hour int) []arrow.RecordBatch {
		return records[hour : hour+1]
	}}
	require.Equal(t, []string{"0b", "1a", "1b", "2a"}, answerOf(t, d.frontend(4)))
}

// TestAQuestionIsSplitInItsTurn lets a question wait until another one has ended: it is not split before, since judging the whole costs
// fresh rows. Its first part runs in the same slot.
func TestAQuestionIsSplitInItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one := texts(memory.DefaultAllocator, "x")
		defer one.Release()
		d := &days{split: answer.Split{Groups: oneKey}, part: func(int) []arrow.RecordBatch { return []arrow.RecordBatch{one} }}
		f := d.frontend(1)
		d.err = fault.New(fault.Unavailable, "not now")
		running, err := f.Ask(t.Context(), sql(wholeStatement))
		require.NoError(t, err)
		require.EqualValues(t, 1, d.splits.Load())
		d.err = nil
		answers := make(chan answer.Result, 1)
		var failure error
		go func() {
			r, err := f.Ask(t.Context(), sql(wholeStatement))
			failure = err
			answers <- r
		}()
		synctest.Wait()
		require.EqualValues(t, 1, d.splits.Load(), "it has no slot yet")
		require.NoError(t, running.Close())
		r := <-answers
		require.NoError(t, failure)
		require.Equal(t, []string{"x"}, textsOf(t, r))
		require.EqualValues(t, 2, d.splits.Load())

		d.panics = true
		require.Panics(t, func() { _, _ = f.Ask(t.Context(), sql(wholeStatement)) })
		d.panics = false
		require.Equal(t, []string{"x"}, answerOf(t, f), "the slot was given back")
	})
}
