package sqlite

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStatementsUseIndexes reads the plans of the statements that meet large tables: each searches by an index, and what is walked
// from end to end is at most the list in a parameter.
func TestStatementsUseIndexes(t *testing.T) {
	t.Parallel()
	c, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "catalog.db")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	for name, statement := range map[string]string{
		"snapshot segments": sqlSnapshotSegments, "snapshot columns": sqlSnapshotColumns, "snapshot commits": sqlSnapshotCommits,
		"snapshot versions": sqlSnapshotVersions, "commit sequences": sqlCommitSequences, "commit datasets": sqlCommitDatasets,
		"columns known": sqlColumnsKnown, "columns widen": sqlColumnsWiden, "streams named": sqlStreamsNamed, "retired": sqlRetired,
		"known objects": sqlKnownObjects, "expire": sqlSegmentsExpire, "retire": sqlSegmentsRetire, "forget": sqlForget,
		"set index": sqlSegmentSetIndex, "has index": sqlSegmentHasIndex, "touch by segment": sqlSegmentTouch,
		"committed": sqlCommitted, "drop": sqlDatabaseRetire, "streams": sqlStreams,
	} {
		for _, step := range plan(t, c, statement) {
			walksTable := strings.HasPrefix(step, "SCAN ") && !strings.Contains(step, "VIRTUAL TABLE")
			require.False(t, walksTable, "%s: %s", name, step)
		}
	}
	require.Contains(t, plan(t, c, sqlSegmentsRetire)[0], "INTEGER PRIMARY KEY")
	require.Contains(t, plan(t, c, sqlSnapshotSegments)[0], "segments_live (dataset_id=? AND max_time>?)")
}

// plan returns the steps of a statement's plan.
func plan(t *testing.T, c *Catalog, statement string) (steps []string) {
	t.Helper()
	var args []any
	for _, number := range []string{"?1", "?2", "?3", "?4"} {
		if strings.Contains(statement, number) {
			args = append(args, "[]")
		}
	}
	rows, err := c.writer.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+statement, args...)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		var (
			id, parent, unused int
			step               string
		)
		require.NoError(t, rows.Scan(&id, &parent, &unused, &step))
		steps = append(steps, step)
	}
	require.NoError(t, rows.Err())
	require.NotEmpty(t, steps)
	return steps
}
