package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRowsAreReproducibleJSON(t *testing.T) {
	t.Parallel()
	const rows = 2000
	var a, b bytes.Buffer
	require.NoError(t, run(&a, rows, "2026-11-01T00:00:00Z", time.Millisecond, 7))
	require.NoError(t, run(&b, rows, "2026-11-01T00:00:00Z", time.Millisecond, 7))
	require.Equal(t, a.String(), b.String())

	traces, levels := map[string]bool{}, map[string]int{}
	lines := strings.Split(strings.TrimSuffix(a.String(), "\n"), "\n")
	require.Len(t, lines, rows)
	for _, line := range lines {
		var row map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &row))
		require.Len(t, row, 9)
		traces[row["trace_id"].(string)] = true
		levels[row["level"].(string)]++
		require.Contains(t, row["message"], " user=u")
		require.NotContains(t, row["message"], "%")
	}
	require.Len(t, traces, rows)
	require.Greater(t, levels["info"], levels["debug"])
	require.Greater(t, levels["debug"], levels["warn"])
	require.Greater(t, levels["warn"], levels["error"])
	require.JSONEq(t, `"2026-11-01T00:00:01.999000Z"`, timeOf(t, lines[rows-1]))
}

func TestAnUnreadableStartIsRefused(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, run(&bytes.Buffer{}, 1, "yesterday", time.Millisecond, 1), "-start")
}

func timeOf(t *testing.T, line string) string {
	t.Helper()
	var row map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(line), &row))
	return string(row["_time"])
}
