package main

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"
)

// readAnswer reads the fields of every row of an answer.
func readAnswer(d dialect, text []byte, fields []string) ([][]string, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	var rows [][]string
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		cells, err := d.cells(line, fields)
		if err != nil {
			return nil, err
		}
		if cells != nil {
			rows = append(rows, cells)
		}
	}
	return rows, nil
}

// sameRows reports whether two answers hold the same rows in any order. Numbers and times are compared by value.
func sameRows(a, b [][]string) bool { return slices.Equal(canonical(a), canonical(b)) }

func canonical(rows [][]string) []string {
	lines := make([]string, len(rows))
	for i, cells := range rows {
		values := make([]string, len(cells))
		for j, c := range cells {
			values[j] = canonicalCell(c)
		}
		lines[i] = strings.Join(values, "\t")
	}
	slices.Sort(lines)
	return lines
}

func canonicalCell(text string) string {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t.UTC().Format(time.RFC3339Nano)
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return text
}
