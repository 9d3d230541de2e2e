package promstore

import (
	"context"
	"slices"

	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire/nativehist"
)

// groupColumns is the samples of consecutive rows of a row group.
type groupColumns struct {
	piece
	present []bool // rows that hold a sample; nil when all do
}

// readColumns reads the samples of a row group. Rows that say a kind are among them: they are OTLP's, or no samples.
func readColumns(ctx context.Context, r *columnar.SeriesReader, version int64, group int) (*groupColumns, error) {
	c := columnsReader{SeriesReader: r, group: group, out: &groupColumns{piece: piece{version: version}}}
	for _, read := range []func(context.Context) error{c.times, c.values, c.histograms, c.flags, c.versions, c.starts} {
		if err := read(ctx); err != nil {
			return nil, err
		}
	}
	return c.out, nil
}

// columnsReader fills out, column by column.
type columnsReader struct {
	*columnar.SeriesReader
	group int
	out   *groupColumns
}

func (c *columnsReader) times(ctx context.Context) (err error) {
	if c.out.times, err = c.Ints(ctx, nil, c.group, signal.TimeColumn); err != nil {
		return err
	}
	toMillis(c.out.times)
	return nil
}

func toMillis(micros []int64) {
	for i, t := range micros {
		micros[i] = millisOf(t)
	}
}

func (c *columnsReader) values(ctx context.Context) (err error) {
	g := c.out
	if !c.Has(signal.ValueColumn) {
		g.values, g.present = make([]float64, len(g.times)), make([]bool, len(g.times))
		return nil
	}
	g.values, g.present, err = c.Floats(ctx, nil, c.group, signal.ValueColumn)
	return err
}

func (c *columnsReader) histograms(ctx context.Context) error {
	g := c.out
	if g.present == nil || c.Empty(c.group, signal.HistogramColumn) {
		return nil
	}
	g.histograms = make([][]byte, len(g.times))
	return c.Texts(ctx, c.group, signal.HistogramColumn, func(row int, text []byte) {
		if !g.present[row] && nativehist.IsNative(text) {
			g.histograms[row], g.present[row] = slices.Clone(text), true
		}
	})
}

func (c *columnsReader) flags(ctx context.Context) error {
	g := c.out
	if g.present == nil || c.Empty(c.group, signal.FlagsColumn) {
		return nil
	}
	flags, _, err := c.NullableInts(ctx, c.group, signal.FlagsColumn)
	for row, flag := range flags {
		if flag&signal.FlagNoValue != 0 && !g.present[row] {
			g.values[row], g.present[row] = staleMarker(), true
		}
	}
	return err
}

func (c *columnsReader) versions(ctx context.Context) (err error) {
	if !c.Has(signal.VersionColumn) {
		return nil
	}
	c.out.version = 0
	versions, err := c.Ints(ctx, nil, c.group, signal.VersionColumn)
	if err != nil || len(versions) == 0 {
		return err
	}
	if slices.ContainsFunc(versions, func(v int64) bool { return v != versions[0] }) {
		c.out.versions = versions
	} else {
		c.out.version = versions[0]
	}
	return nil
}

func (c *columnsReader) starts(ctx context.Context) (err error) {
	if c.Empty(c.group, signal.StartColumn) {
		return nil
	}
	c.out.starts, _, err = c.NullableInts(ctx, c.group, signal.StartColumn)
	toMillis(c.out.starts)
	return err
}

// leaveOut takes rows out that are the translator's.
func (g *groupColumns) leaveOut(rows map[int]string) {
	if g.present == nil && len(rows) > 0 {
		g.present = make([]bool, len(g.times))
		for i := range g.present {
			g.present[i] = true
		}
	}
	for row := range rows {
		g.present[row] = false
	}
}

// clone returns rows in memory of their own.
func (g *groupColumns) clone(from, to int) *groupColumns {
	out := &groupColumns{piece: g.slice(from, to)}
	out.times, out.values, out.versions = slices.Clone(out.times), slices.Clone(out.values), slices.Clone(out.versions)
	out.histograms, out.starts = slices.Clone(out.histograms), slices.Clone(out.starts)
	if g.present != nil {
		out.present = slices.Clone(g.present[from:to])
	}
	return out
}

// bytes returns about how much memory the columns take.
func (g *groupColumns) bytes() int64 {
	const word, slice = 8, 24
	n := word*(cap(g.times)+cap(g.values)+cap(g.versions)+cap(g.starts)) + slice*cap(g.histograms) + cap(g.present)
	for _, h := range g.histograms {
		n += cap(h)
	}
	return int64(n)
}
