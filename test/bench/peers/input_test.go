package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLineCutsFallBehindLines(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "line %s\n", strings.Repeat("x", i))
	}
	all := text.String()
	cuts, err := lineCuts(strings.NewReader(all), int64(len(all)), 7)
	require.NoError(t, err)
	require.Len(t, cuts, 8)
	require.Zero(t, cuts[0])
	require.EqualValues(t, len(all), cuts[7])
	for i, at := range cuts[1:] {
		require.Greater(t, at, cuts[i])
		require.Equal(t, byte('\n'), all[at-1])
	}
}

func TestFewLinesLeaveEmptyParts(t *testing.T) {
	t.Parallel()
	const all = "one\ntwo\n"
	cuts, err := lineCuts(strings.NewReader(all), int64(len(all)), 5)
	require.NoError(t, err)
	var parts []string
	for i, at := range cuts[1:] {
		require.GreaterOrEqual(t, at, cuts[i])
		parts = append(parts, all[cuts[i]:at])
	}
	require.Equal(t, all, strings.Join(parts, ""))
}

func TestInputFindsATraceInTheMiddle(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, `{"trace_id":"t%02d"}`+"\n", i)
	}
	in := &input{path: filepath.Join(t.TempDir(), "rows")}
	require.NoError(t, os.WriteFile(in.path, []byte(text.String()), 0o600))
	require.NoError(t, in.scan())
	require.Equal(t, "t31", in.traceID)
	lines, err := in.firstLines(2)
	require.NoError(t, err)
	require.Equal(t, text.String()[:len(lines)], string(lines))
	require.Equal(t, 2, strings.Count(string(lines), "\n"))
}
