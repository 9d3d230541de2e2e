// Package backfill reads metrics that were recorded elsewhere: blocks of a Prometheus TSDB and OpenMetrics files.
//
// Both are parts whose samples come in the same order every time, so that a reader that was interrupted goes on after as many samples as
// it had. A block gives series after series, each in order of time, without what tombstones have deleted; a file gives samples as it
// lists them. Nothing is held but the part's index, which is mapped into memory as the file is.
//
// The package imports fault and Prometheus' readers of these formats; it knows no server.
package backfill
