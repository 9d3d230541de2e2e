package query_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/querier"
	"github.com/millstream/millstream/internal/tenant"
)

// TestLimitsOfOneOrg gives one org narrow limits of its queries and another none: each refusal names the limit and what was asked for.
func TestLimitsOfOneOrg(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{limits: func(org tenant.ID) limits.Limits {
		l := limits.Default()
		if org == "narrow" {
			l.MaxQueryLength, l.MaxEntriesLimit = 2*time.Hour, 10
		}
		if org == "thrifty" {
			l.MaxQueryBytesRead = 1
		}
		return l
	}})
	for _, org := range []tenant.ID{"narrow", "wide", "thrifty"} {
		s.Write(logs(org, "web"), row{"_timestamp": now.Add(-time.Minute), "n": 1}, row{"_timestamp": now.Add(-3 * time.Hour), "n": 2})
	}
	s.Flush()
	for _, c := range []struct {
		statement string
		start     time.Time
		limit     int64
		want      string // "" when it passes
	}{
		{"SELECT count(*) FROM web", time.Time{}, 0, "a time range without a start, the limit is 2h (limits.max_query_length)"},
		{"SELECT count(*) FROM web", now.Add(-3 * time.Hour), 0, "a time range of 10800 seconds, the limit is 2h"},
		{"SELECT count(*) FROM web", now.Add(-2 * time.Hour), 0, ""},
		{"SELECT n, count(*) FROM web GROUP BY n", now.Add(-time.Hour), 0, ""},
		{"SELECT n FROM web", now.Add(-time.Hour), 0, "any number of rows, the limit is 10 (limits.max_entries_limit_per_query); add LIMIT 10"},
		{"SELECT n FROM web LIMIT 11", now.Add(-time.Hour), 0, "asks for 11 rows, the limit is 10 (limits.max_entries_limit_per_query)"},
		{"SELECT n FROM web LIMIT 10", now.Add(-time.Hour), 0, ""},
		{"SELECT n FROM web LIMIT 1000", now.Add(-time.Hour), 10, ""},
		{"SELECT n FROM web", now.Add(-time.Hour), 11, "asks for 11 rows"},
		{"SELECT * FROM (SELECT n FROM web)", now.Add(-time.Hour), 0, "any number of rows"},
		{"SELECT n FROM web UNION ALL SELECT n FROM web", now.Add(-time.Hour), 0, "any number of rows"},
		{"SELECT max(n) OVER () FROM web", now.Add(-time.Hour), 0, "any number of rows"},
		{"SELECT 1", time.Time{}, 0, ""},
		{"SHOW STREAMS", time.Time{}, 0, ""},
	} {
		request := querier.Request{Statement: c.statement, Start: c.start, Limit: c.limit}
		request.Org = "wide"
		_, err := s.try(t.Context(), request)
		require.NoError(t, err, c.statement)
		request.Org = "narrow"
		_, err = s.try(t.Context(), request)
		if c.want == "" {
			require.NoError(t, err, c.statement)
			continue
		}
		require.True(t, fault.Is(err, fault.Invalid), "%s: %v", c.statement, err)
		require.Contains(t, fault.Message(err), c.want, c.statement)
	}

	_, err := s.try(t.Context(), querier.Request{Org: "thrifty", Statement: "SELECT count(*) FROM web"})
	require.True(t, fault.Is(err, fault.Invalid), "%v", err)
	require.Contains(t, fault.Message(err), "more than the limit of 1 (limits.max_query_bytes_read)")
	a, err := s.try(t.Context(), querier.Request{Org: "thrifty", Statement: "SELECT count(*) FROM web", Start: now.Add(-30 * time.Second)})
	require.NoError(t, err, "files that hold nothing of the range are not read")
	require.Equal(t, []string{"0"}, a.rows)
}

func TestTimeLimitOfOneOrg(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{limits: func(tenant.ID) limits.Limits {
		l := limits.Default()
		l.QueryTimeout = 200 * time.Millisecond
		return l
	}})
	s.Write(logs("acme", "web"), row{"n": 1})
	_, err := s.try(t.Context(), querier.Request{Org: "acme", Statement: endless})
	require.True(t, fault.Is(err, fault.Deadline), err)
	require.Contains(t, fault.Message(err), "limits.query_timeout")
}
