package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A memoryFigure is the largest resident set of a process during one kind of work, and what its settings allow.
type memoryFigure struct {
	name  string
	peak  int64 // bytes
	bound int64 // bytes
	why   string
}

// The settings whose sum bounds the process, and what the program itself needs beside them (config print shows the sum).
const (
	mebi          = 1 << 20
	bufferMemory  = 128 * mebi
	requestMemory = 128 * mebi
	mergeMemory   = 256 * mebi
	engineMemory  = 1024 * mebi
	restMemory    = 256 * mebi
)

// measureMemory takes the peaks of intake, merging and queries with the largest size.
func (g *growth) measureMemory(ctx context.Context, loads []intake) ([]memoryFigure, error) {
	out := []memoryFigure{{
		"intake", loads[len(loads)-1].memory, bufferMemory + requestMemory + restMemory, "buffers 128, requests 128, the rest 256",
	}}
	dir := g.dataDir(g.inputs[len(g.inputs)-1].rows)
	query, err := g.peakOfQueries(ctx, dir)
	if err != nil {
		return nil, err
	}
	merges, err := g.peakOfMerges(ctx, dir)
	return append(out,
		memoryFigure{"queries", query, engineMemory + restMemory, "querier.memory_limit 1024, the rest 256"},
		memoryFigure{"merging", merges, mergeMemory + restMemory, "merges 256, the rest 256"},
	), err
}

// heavyQueries hold as many groups, or sort as many rows, as there are: they spill, or end at a limit of theirs.
func heavyQueries() []string {
	return []string{
		`SELECT count(*) FROM (SELECT message, count(*) FROM bench GROUP BY message)`,
		`SELECT count(DISTINCT trace_id) FROM bench`,
		`SELECT * FROM bench ORDER BY duration_ms, trace_id LIMIT 1000000`,
		`SELECT * FROM bench`,
	}
}

func (g *growth) peakOfQueries(ctx context.Context, dir string) (int64, error) {
	s, err := start(ctx, g.configured(map[string]string{
		"MS_QUERIER_MEMORY_LIMIT": "1024MiB", "MS_QUERIER_TIMEOUT_SECS": "600", "MS_LIMITS_QUERY_TIMEOUT": "10m",
		"MS_COMPACTOR_DELETION_GRACE_SECS": "3600", // longer than a query
	}), dir)
	if err != nil {
		return 0, err
	}
	defer s.stop()
	for _, statement := range heavyQueries() {
		fmt.Fprintln(g.progress, "asking", statement)
		if err := discard(s.ask(ctx, statement)); err != nil && !strings.Contains(err.Error(), "limit") {
			return 0, err // neither an answer nor one of the query's limits
		}
	}
	return peakMemory(s.process.PID())
}

// peakOfMerges lets the compactor catch up.
func (g *growth) peakOfMerges(ctx context.Context, dir string) (int64, error) {
	fmt.Fprintln(g.progress, "merging")
	s, err := start(ctx, g.configured(map[string]string{mergeInterval: "1"}), dir)
	if err != nil {
		return 0, err
	}
	defer s.stop()
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	const quiet = 10 // looks, two seconds apart
	for same, last := 0, -1.0; same < quiet; {
		m, err := s.samples(ctx)
		if err != nil {
			return 0, err
		}
		same++
		merged, reserved := m.sum("millstream_compactor_merged_segments_total"), m.sum("millstream_compactor_merge_reserved_bytes")
		if merged != last || reserved > 0 {
			same, last = 0, merged
		}
		if err := wait(ctx, 2*time.Second); err != nil {
			return 0, err
		}
		if same == quiet && last == 0 {
			return 0, errors.New("nothing was merged")
		}
	}
	return peakMemory(s.process.PID())
}
