package main

import (
	"bytes"
	"fmt"
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
	if w, ok := d.(wholeReader); ok {
		return w.rows(text)
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

// difference describes how two answers differ, "" when they hold the same rows in any order. Numbers and times are compared by value.
func difference(a, b [][]string) string {
	x, y := canonical(a), canonical(b)
	for i := range max(len(x), len(y)) {
		switch {
		case i >= len(x):
			return fmt.Sprintf("%d rows against %d, the first more is %q", len(x), len(y), y[i])
		case i >= len(y):
			return fmt.Sprintf("%d rows against %d, the first more is %q", len(x), len(y), x[i])
		case x[i] != y[i]:
			return fmt.Sprintf("%d rows against %d, the first that differs is %q against %q", len(x), len(y), x[i], y[i])
		}
	}
	return ""
}

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
		const digits = 12 // the peer gives 13.383 back as 13.383000000000001
		return strconv.FormatFloat(f, 'g', digits, 64)
	}
	return text
}
