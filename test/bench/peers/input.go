package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// chunks is the number of requests that carry the rows.
const chunks = 30

// An input is the file of JSON lines, or of remote write requests, that every server is given.
type input struct {
	path      string
	header    http.Header // of its requests
	rows      int
	bytes     int64
	generator string // which program made it
	cuts      []int64
	traceID   string // of a row in the middle
}

// prepareInput writes the rows into folder, unless an earlier run did.
func prepareInput(ctx context.Context, folder string, rows int, progress io.Writer) (*input, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("make the working folder: %w", err)
	}
	generator, cmd := generatorCommand(ctx, rows)
	path := filepath.Join(folder, fmt.Sprintf("%s-%d.ndjson", generator, rows))
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(progress, "writing %d rows\n", rows)
		if err := generate(cmd, path); err != nil {
			return nil, err
		}
	}
	in := &input{path: path, rows: rows, generator: generator, header: http.Header{"Content-Type": {"application/x-ndjson"}}}
	if err := in.scan(); err != nil {
		return nil, fmt.Errorf("read the rows: %w", err)
	}
	return in, nil
}

// generatorCommand prefers the generator that lies beside the repository, which wraps real log lines, to the repository's own.
func generatorCommand(ctx context.Context, rows int) (name string, cmd *exec.Cmd) {
	n := strconv.Itoa(rows)
	tool, data := filepath.Join("..", "shared", "tools", "loggen"), filepath.Join("..", "shared", "data")
	for _, needed := range []string{filepath.Join(tool, "main.go"), filepath.Join(data, "HDFS.log")} {
		if _, err := os.Stat(needed); err != nil {
			return "synthetic", exec.CommandContext(ctx, "go", "run", "./test/bench/loggen", "-n", n)
		}
	}
	cmd = exec.CommandContext(ctx, "go", "run", ".", "-data", filepath.Join("..", "..", "data"), "-n", n)
	cmd.Dir = tool
	return "real", cmd
}

func generate(cmd *exec.Cmd, path string) error {
	partial := path + ".partial"
	f, err := os.Create(partial)
	if err != nil {
		return fmt.Errorf("create the file of rows: %w", err)
	}
	cmd.Stdout, cmd.Stderr = f, os.Stderr
	err = cmd.Run()
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("generate rows: %w", err)
	}
	return os.Rename(partial, path)
}

// scan finds where the chunks end, and a trace id to look for.
func (in *input) scan() error {
	f, err := os.Open(in.path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it is only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	in.bytes = info.Size()
	if in.cuts, err = lineCuts(f, in.bytes, chunks); err != nil {
		return err
	}
	middle := in.cuts[len(in.cuts)/2]
	line, err := bufio.NewReader(io.NewSectionReader(f, middle, in.bytes-middle)).ReadBytes('\n')
	if err != nil {
		return err
	}
	var row struct {
		TraceID string `json:"trace_id"`
	}
	if err := json.Unmarshal(line, &row); err != nil {
		return err
	}
	in.traceID = row.TraceID
	return nil
}

// recut cuts the input into n requests.
func (in *input) recut(n int) error {
	f, err := os.Open(in.path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it is only read
	in.cuts, err = lineCuts(f, in.bytes, n)
	return err
}

// lineCuts returns n+1 offsets, the first 0 and the last size, that cut lines into n parts of about one size. A part may be empty.
func lineCuts(r io.ReaderAt, size int64, n int) ([]int64, error) {
	cuts := make([]int64, 1, n+1)
	for i := 1; i < n; i++ {
		at := max(size*int64(i)/int64(n), cuts[i-1])
		rest, err := bufio.NewReader(io.NewSectionReader(r, at, size-at)).ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		cuts = append(cuts, at+int64(len(rest)))
	}
	return append(cuts, size), nil
}
