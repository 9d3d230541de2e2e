package promstore_test

import (
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/sqlplan"
)

// A row with FlagNoValue is a staleness marker to the bit; rows that describe a metric or carry an exemplar alone are no samples.
func TestRowsBecomeSamples(t *testing.T) {
	t.Parallel()
	everywhere(t, []sample{
		{second: 0, value: 1},
		{second: 15, x: signal.Sample{Flags: signal.FlagNoValue}},
		{second: 20, x: signal.Sample{Kind: signal.MetricCounter, Description: []byte("what it is")}},
		{second: 25, x: signal.Sample{Exemplars: []byte(`[]`)}},
		{second: 30, value: 2},
		{second: 31, x: signal.Sample{Name: []byte("other"), Exemplars: []byte(`[]`)}},
	}, []string{"m", "other"}, func(b *bed) {
		b.require([]string{`{__name__="m"} 0:1 15:NaN(stale) 30:2`}, 0, 60, named("m"))
		b.require([]string{`{__name__="m"} 15:NaN(stale)`}, 1, 29, named("m"))
		b.require(nil, 0, 60, named("other"))
		b.require(nil, 16, 29, named("m"))
	})
}

// Of the values at one time the buffer's counts before any file's, a later file's before an earlier one's, a later row's before an earlier
// one's of the same batch, and of batches of one buffer the later one's.
func TestTheGreatestVersionCounts(t *testing.T) {
	t.Parallel()
	b := newBed(t, "m")
	b.file(sample{second: 1, value: 1}, sample{second: 2, value: 1}, sample{second: 3, value: 1}, sample{second: 4, value: 1})
	b.file(sample{second: 2, value: 2}, sample{second: 3, value: 2}, sample{second: 3, value: 2.5}, sample{second: 4, value: 2})
	b.require([]string{`{__name__="m"} 1:1 2:2 3:2.5 4:2`}, 0, 9, named("m"))
	b.buffer(sample{second: 4, value: 3}, sample{second: 5, value: 3})
	b.buffer(sample{second: 1, value: 4}, sample{second: 5, value: 4}, sample{second: 5, value: 4.5})
	b.require([]string{`{__name__="m"} 1:4 2:2 3:2.5 4:3 5:4.5`}, 0, 9, named("m"))
	b.require([]string{`{__name__="m"} 3:2.5 4:3`}, 3, 4, named("m"))
}

// The buffers are read before the catalog, and what the catalog has committed meanwhile is not taken from them again.
func TestCommittedBatchesAreNotCountedTwice(t *testing.T) {
	t.Parallel()
	b := newBed(t, "m")
	b.file(sample{second: 1, value: 1}) // made of the first batch
	b.buffer(sample{second: 1, value: 7})
	b.buffer(sample{second: 2, value: 2})
	b.committed = 1
	b.require([]string{`{__name__="m"} 1:1 2:2`}, 0, 9, named("m"))
	require.Equal(t, []string{"buffers", "catalog", b.segments[0].Key}, b.asked[:3])
}

// All selectors of a query see one picture, although rows come in between.
func TestAQuerySeesOnePicture(t *testing.T) {
	t.Parallel()
	b := newBed(t, "m")
	b.buffer(sample{second: 1, value: 1})
	q, err := b.Queryable(org, "public").Querier(0, 9000)
	require.NoError(t, err)
	for range 2 {
		got, err := texts(t, q.Select(t.Context(), true, nil, named("m")))
		require.NoError(t, err)
		require.Equal(t, []string{`{__name__="m"} 1:1`}, got)
		b.buffer(sample{second: 2, value: 2})
	}
	require.NoError(t, q.Close())
	b.require([]string{`{__name__="m"} 1:1 2:2`}, 0, 9, named("m"))
}

// What is older than the retention of the org, the database or the metric is not shown, whichever is the shortest.
func TestExpiredSamplesAreHidden(t *testing.T) {
	t.Parallel()
	other := signal.Sample{Name: []byte("n")}
	samples := []sample{
		{second: 100, value: 1},
		{second: 500, value: 2},
		{second: 900, value: 3},
		{second: 100, value: 1, x: other},
		{second: 500, value: 2, x: other},
		{second: 900, value: 3, x: other},
	}
	all, two, one := []string{"100:1 500:2 900:3"}, []string{"500:2 900:3"}, []string{"900:3"}
	everywhere(t, samples, []string{"m", "n"}, func(b *bed) {
		check := func(m, n []string) {
			b.clock.Advance(3 * time.Second) // what is known of the catalog is asked for again
			b.require([]string{`{__name__="m"} ` + m[0]}, 0, 1000, named("m"))
			b.require([]string{`{__name__="n"} ` + n[0]}, 0, 1000, named("n"))
		}
		check(all, all)
		b.retention = 10 * time.Minute
		check(two, two)
		b.databases[0].Options[sqlplan.OptionRetention] = "5m"
		check(one, one)
		b.retention = 0
		b.databases[0].Options[sqlplan.OptionRetention] = "1h"
		b.streams[1].Options[sqlplan.OptionRetention] = "10m"
		check(all, two)
		b.streams[1].Options[sqlplan.OptionRetention] = ""
		b.databases[0].Options[sqlplan.OptionRetention] = ""
	})
}

// A segment of another org is not read, whoever planned it; a writer that could not be asked is a warning.
func TestForeignSegmentsAndWarnings(t *testing.T) {
	t.Parallel()
	b := newBed(t, "m")
	b.file(sample{second: 1, value: 1})
	b.file(sample{second: 2, value: 2})
	b.segments[1].Org = "t2"
	b.warnings = []string{"node i1 epoch 7 unreachable"}
	b.require([]string{`{__name__="m"} 1:1`}, 0, 9, named("m"))
	require.NotContains(t, b.asked, b.segments[1].Key)
	q, err := b.Queryable(org, "public").Querier(0, 9000)
	require.NoError(t, err)
	defer func() { require.NoError(t, q.Close()) }()
	set := q.Select(t.Context(), false, nil, named("m"))
	require.ErrorContains(t, set.Warnings().AsErrors()[0], "node i1 epoch 7 unreachable")
}

// Limits of a query end it and name themselves.
func TestLimitsOfAQuery(t *testing.T) {
	t.Parallel()
	one := []string{"i", "1"}
	samples := []sample{{second: 1, labels: one}, {second: 2, labels: one}, {second: 1, labels: []string{"i", "2"}}}
	everywhere(t, samples, []string{"m"}, func(b *bed) {
		for _, c := range []struct {
			limits limits.Limits
			want   string
		}{
			{limits.Limits{MaxFetchedSamples: 3, MaxFetchedSeries: 2}, ""},
			{limits.Limits{MaxFetchedSamples: 2}, "limits." + limits.MaxFetchedSamples},
			{limits.Limits{MaxFetchedSeries: 1}, "limits." + limits.MaxFetchedSeries},
		} {
			b.limits = c.limits
			_, err := b.selected(0, 9, named("m"))
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.want)
			}
		}
		for _, f := range b.segments {
			b.limits.MaxQueryBytesRead += f.Bytes
		}
		b.limits.MaxFetchedSeries = 0
		for _, read := range []func(from, to float64, matchers ...*labels.Matcher) ([]string, error){b.selected, b.batched} {
			_, err := read(0, 9, named("m"))
			require.NoError(t, err, "the files are charged once")
		}
		b.limits = limits.Limits{MaxQueryBytesRead: 1}
		_, err := b.selected(0, 9, named("m"))
		require.Equal(t, len(b.segments) > 0, fault.Is(err, fault.Invalid), "%v", err)
		b.limits = limits.Limits{}
	})
}

// Files and row groups that cannot hold what is asked for are not opened.
func TestFilesAreLeftOut(t *testing.T) {
	t.Parallel()
	b := newBed(t, "m", "z")
	b.file(sample{second: 1, value: 1})
	b.file(sample{second: 1, value: 1, x: signal.Sample{Name: []byte("z")}})
	b.file(sample{second: 500, value: 1})
	for _, c := range []struct {
		from, to float64
		matcher  *labels.Matcher
		want     []catalog.SegmentID
	}{
		{0, 9, named("m"), []catalog.SegmentID{1}},
		{0, 900, named("m"), []catalog.SegmentID{1, 3}},
		{0, 900, match(labels.MatchRegexp, "__name__", "z|y"), []catalog.SegmentID{2}},
		{0, 9, match(labels.MatchRegexp, "__name__", ".+"), []catalog.SegmentID{1, 2}},
		{600, 900, named("m"), nil},
	} {
		b.asked = nil
		_, err := b.selected(c.from, c.to, c.matcher)
		require.NoError(t, err)
		want := []string{"buffers", "catalog"}
		for _, id := range c.want {
			want = append(want, b.segments[id-1].Key)
		}
		require.Equal(t, want, b.asked, c.matcher)
	}
}

// Questions about labels count what lies in the time range and matches.
func TestLabelQueries(t *testing.T) {
	t.Parallel()
	samples := []sample{
		{second: 1, labels: []string{"i", "1", "job", "a"}},
		{second: 2, labels: []string{"i", "2", "job", "b"}},
		{second: 100, labels: []string{"i", "3", "zone", "x"}},
		{second: 1, x: signal.Sample{Name: []byte("n")}, labels: []string{"i", "4"}},
	}
	everywhere(t, samples, []string{"m", "n"}, func(b *bed) {
		q, err := b.Queryable(org, "public").Querier(0, 9000)
		require.NoError(t, err)
		defer func() { require.NoError(t, q.Close()) }()
		for name, want := range map[string][]string{"i": {"1", "2"}, "job": {"a", "b"}, "zone": {}, "__name__": {"m"}} {
			got, _, err := q.LabelValues(t.Context(), name, nil, named("m"))
			require.NoError(t, err)
			require.ElementsMatch(t, want, got, name)
		}
		got, _, err := q.LabelNames(t.Context(), nil, match(labels.MatchEqual, "job", "a"))
		require.NoError(t, err)
		require.Equal(t, []string{"__name__", "i", "job"}, got)
		got, _, err = q.LabelValues(t.Context(), "i", nil, match(labels.MatchNotEqual, "job", "a"))
		require.NoError(t, err)
		require.Equal(t, []string{"2", "4"}, got)
	})
}
