package overrides_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/overrides"
	"github.com/millstream/millstream/internal/tenant"
)

const mib = 1 << 20

// TestLokisExample reads the example of Loki's documentation: all ten values are in force.
func TestLokisExample(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/seed.yaml")
	require.NoError(t, err)
	doc := overrides.Parse(text)
	require.Empty(t, doc.Faults)
	s := limits.NewSource(limits.Default(), nil)
	s.Replace(doc.Good)

	type five struct {
		rate, burst          int64
		parallelism, streams int
		split                time.Duration
	}
	of := func(org tenant.ID) five {
		l := s.For(org)
		return five{l.IngestionRate, l.IngestionBurst, l.MaxQueryParallelism, l.MaxGlobalStreams, l.SplitQueriesByInterval}
	}
	require.Equal(t, five{10 * mib, 20 * mib, 32, 5000, 30 * time.Minute}, of("medium_user"))
	require.Equal(t, five{30 * mib, 40 * mib, 64, 40000, 15 * time.Minute}, of("big_user"))
	require.Equal(t, limits.Default(), s.For("small_user"))
}

func TestEveryFaultIsToldWithItsLine(t *testing.T) {
	t.Parallel()
	doc := overrides.Parse([]byte(`overrides:
  good: {ingestion_rate_mb: 1}
  typo:
    ingestion_rat_mb: 10
    nonsense: 1
    max_query_parallelism: 0
  types:
    ingestion_rate_mb: 10MB
    split_queries_by_interval: 30
    max_global_streams_per_user: 5.5
    query_timeout: 1 minute
    reject_old_samples: maybe
    max_line_size: 12
    retention_period:
    max_query_length: [1h]
    max_entries_limit_per_query: 99999999999999999999
  twice:
    query_timeout: 1m
    query_timeout: 2m
  ../evil:
    ingestion_rate_mb: 1
  good: {}
  list: [1]
  empty:
  12: {query_weight: 3}
`))
	require.False(t, doc.Broken())
	var lines []string
	for _, f := range doc.Faults {
		lines = append(lines, f.String())
	}
	require.Equal(t, []string{
		"4: org typo: ingestion_rat_mb is no limit; did you mean ingestion_rate_mb?",
		"5: org typo: nonsense is no limit; docs/operate/limits.md lists them",
		"6: org typo: max_query_parallelism: at least 1 is needed",
		"8: org types: ingestion_rate_mb: a number of MiB of at least 0 is expected, without a unit",
		`9: org types: split_queries_by_interval: a duration is expected, as in "90s", "10m", "1d12h", "2w" or 0`,
		"10: org types: max_global_streams_per_user: a whole number of at least 0 is expected",
		`11: org types: query_timeout: a duration is expected, as in "90s", "10m", "1d12h", "2w" or 0`,
		"12: org types: reject_old_samples: true or false is expected",
		"13: org types: max_line_size: at least 1KiB is needed",
		"14: org types: retention_period: a value is missing",
		"15: org types: max_query_length: one value is expected",
		"16: org types: max_entries_limit_per_query: a whole number of at least 0 is expected",
		"19: org twice: query_timeout stands here a second time",
		`20: org "../evil": this is no org: org id: character '/' is not allowed`,
		"22: org good: the org stands here a second time",
		"23: org list: limits with their values are expected",
	}, lines)
	require.Equal(t, map[tenant.ID]bool{"typo": true, "types": true, "twice": true, "good": true, "list": true}, doc.Bad)
	require.Len(t, doc.Good, 2)
	require.Equal(t, 3, doc.Good["12"].Over(limits.Default()).QueryWeight)
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                  "the file is empty; without any overrides it reads: overrides: {}",
		"# nothing\n":                       "the file is empty; without any overrides it reads: overrides: {}",
		"overrides:\n  a:\n   b: 1\n  c: [": "4: this is no YAML: did not find expected node content",
		"[1]":                               "1: a file with the key overrides is expected",
		"override: {}":                      `1: unknown key "override"; overrides is the only one`,
		"{}":                                "1: the key overrides is missing",
		"overrides: 1":                      "1: overrides: orgs with their limits are expected",
		"overrides: {}\noverrides: {}":      "2: overrides stands here a second time",
	} {
		doc := overrides.Parse([]byte(text))
		require.True(t, doc.Broken(), text)
		require.Equal(t, want, doc.Faults[0].String(), text)
	}
	require.Empty(t, overrides.Parse([]byte("overrides:\n")).Faults)
	require.Empty(t, overrides.Parse([]byte(`{"overrides": {"a": {"query_timeout": "5s"}}}`)).Faults, "JSON is YAML")
}

// TestEntriesMayShare uses YAML's own ways to write the same limits once.
func TestEntriesMayShare(t *testing.T) {
	t.Parallel()
	doc := overrides.Parse([]byte(`overrides:
  a: &small {ingestion_rate_mb: 1, query_timeout: 5s}
  b: *small
  c:
    <<: *small
    ingestion_rate_mb: 2
`))
	require.Empty(t, doc.Faults)
	require.True(t, doc.Good["a"].Equal(doc.Good["b"]))
	c := doc.Good["c"].Over(limits.Default())
	require.EqualValues(t, 2*mib, c.IngestionRate)
	require.Equal(t, 5*time.Second, c.QueryTimeout)
}

// FuzzParse looks for a text that makes reading panic, or that is both good and bad for one org.
func FuzzParse(f *testing.F) {
	seed, err := os.ReadFile("testdata/seed.yaml")
	require.NoError(f, err)
	f.Add(seed)
	f.Add([]byte("overrides:\n  a: &x {<<: *x}\n"))
	f.Add([]byte("overrides: {? [1]: 2, a: {<<: [1], <<: {}}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		doc := overrides.Parse(text)
		for org := range doc.Bad {
			require.NotContains(t, doc.Good, org)
			require.NotEmpty(t, doc.Faults)
		}
	})
}
