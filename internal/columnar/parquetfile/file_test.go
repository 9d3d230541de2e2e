package parquetfile_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/columnar/parquetfile"
	"github.com/millstream/millstream/internal/fault"
)

// group is one row group as a test sees it: a chunk a column.
type group struct {
	rows   int
	chunks []parquetfile.Chunk
}

// written is a file and what went into it.
type written struct {
	columns []parquetfile.Column
	groups  []group
	bytes   []byte
}

func (w *written) write(t require.TestingT, level int) {
	var out bytes.Buffer
	f, err := parquetfile.NewWriter(&out, w.columns, parquetfile.Options{Level: level, CreatedBy: "test", Meta: [][2]string{{"k", "v"}}})
	require.NoError(t, err)
	for _, g := range w.groups {
		f.BeginRowGroup(g.rows)
		for i := range g.chunks {
			_, err := f.WriteChunk(&g.chunks[i])
			require.NoError(t, err)
		}
	}
	require.NoError(t, f.Close())
	w.bytes = out.Bytes()
}

// drawFile makes files of every kind and encoding: values that repeat, ascend, are of one length, or are arbitrary.
func drawFile(t *rapid.T) *written {
	w := &written{}
	for i := range rapid.IntRange(1, 5).Draw(t, "columns") {
		w.columns = append(w.columns, parquetfile.Column{
			Name: fmt.Sprint("c", i), Kind: rapid.SampledFrom([]parquetfile.Kind{
				parquetfile.Bool, parquetfile.Int16, parquetfile.Int64, parquetfile.Float64, parquetfile.Text, parquetfile.JSON, parquetfile.Timestamp,
			}).Draw(t, "kind"),
			FieldID: int32(rapid.IntRange(0, 3).Draw(t, "id")), Required: rapid.Bool().Draw(t, "required"),
			Sequence: rapid.Bool().Draw(t, "sequence"),
		})
	}
	for range rapid.IntRange(1, 3).Draw(t, "groups") {
		g := group{rows: rapid.SampledFrom([]int{1, 7, 8, 9, 127, 129, 1000, 5000}).Draw(t, "rows")}
		for i := range w.columns {
			g.chunks = append(g.chunks, drawChunk(t, &w.columns[i], g.rows))
		}
		w.groups = append(w.groups, g)
	}
	w.write(t, rapid.IntRange(0, 1).Draw(t, "level"))
	return w
}

func drawChunk(t *rapid.T, c *parquetfile.Column, rows int) parquetfile.Chunk {
	var chunk parquetfile.Chunk
	have := rows
	if share := rapid.SampledFrom([]uint64{0, 0, 1, 50, 99, 100}).Draw(t, "nulls"); !c.Required && share > 0 {
		chunk.Present = make([]bool, rows)
		have = 0
		for i, v := range numbers(t, rows) {
			if v%100 >= share || i/10%7 == 0 && share < 100 {
				chunk.Present[i] = true
				have++
			}
		}
	}
	values := numbers(t, have)
	shape := rapid.SampledFrom([]string{"few", "any", "ascending", "one"}).Draw(t, "shape")
	for i, v := range values {
		switch shape {
		case "few":
			v = v % 7 / 3 * 3
		case "ascending":
			v = uint64(1_760_000_000_000_000 + i*1000 + int(v%900))
		case "one":
			v = 42
		}
		switch c.Kind {
		case parquetfile.Bool:
			chunk.Bools = append(chunk.Bools, v%3 == 0)
		case parquetfile.Int16:
			chunk.Ints = append(chunk.Ints, int64(int16(v)))
		case parquetfile.Float64:
			chunk.Floats = append(chunk.Floats, math.Float64frombits(v*0x9e3779b97f4a7c15))
		case parquetfile.Text, parquetfile.JSON:
			chunk.Texts = append(chunk.Texts, text(v, shape))
		default:
			chunk.Ints = append(chunk.Ints, int64(v))
		}
	}
	return chunk
}

func text(v uint64, shape string) string {
	if shape == "ascending" {
		return fmt.Sprintf("%032x", v)
	}
	return fmt.Sprintf("%s%d", "世界 words and a message of some length"[:v%3*3], v>>(v%60))
}

// numbers are cheap to draw: all follow from one seed.
func numbers(t *rapid.T, n int) []uint64 {
	out := make([]uint64, n)
	x := rapid.Uint64().Draw(t, "seed") | 1
	for i := range out {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		out[i] = x
	}
	return out
}

func TestEveryFileReadsBack(t *testing.T) {
	t.Parallel()
	decoder, err := parquetfile.NewDecoder()
	require.NoError(t, err)
	var values parquetfile.Values
	rapid.Check(t, func(t *rapid.T) {
		w := drawFile(t)
		in := bytes.NewReader(w.bytes)
		f, err := parquetfile.ReadFooter(in, int64(len(w.bytes)))
		require.NoError(t, err)
		arrow, err := file.NewParquetReader(in)
		require.NoError(t, err)
		require.Equal(t, len(w.groups), f.Groups())
		v, ok := f.Meta("k")
		require.True(t, ok)
		require.Equal(t, "v", v)
		for i, c := range f.Columns() {
			c.Sequence = w.columns[i].Sequence
			require.Equal(t, w.columns[i], c)
			require.Equal(t, i, f.Column(c.Name))
		}
		for g := range w.groups {
			require.Equal(t, w.groups[g].rows, f.Rows(g))
			for c := range w.columns {
				require.NoError(t, decoder.Read(in, f, g, c, &values))
				sameValues(t, &w.columns[c], &w.groups[g].chunks[c], &values)
				sameAsArrow(t, arrow, g, c, &values)
				sameBounds(t, f, g, c, &values)
			}
		}
	})
}

// sameValues compares what was written with what was read.
func sameValues(t *rapid.T, c *parquetfile.Column, chunk *parquetfile.Chunk, v *parquetfile.Values) {
	at := 0
	for row := range v.Rows {
		if chunk.Present != nil && !chunk.Present[row] {
			require.False(t, v.Has(row))
			continue
		}
		require.True(t, v.Has(row))
		switch c.Kind {
		case parquetfile.Bool:
			require.Equal(t, chunk.Bools[at], v.Bools[row])
		case parquetfile.Float64:
			require.Equal(t, math.Float64bits(chunk.Floats[at]), math.Float64bits(v.Floats[row]))
		case parquetfile.Text, parquetfile.JSON:
			if string(v.Texts.Row(row)) != chunk.Texts[at] {
				require.Equal(t, chunk.Texts[at], string(v.Texts.Row(row)))
			}
		default:
			require.Equal(t, chunk.Ints[at], v.Ints[row])
		}
		at++
	}
}

// sameAsArrow compares with the general reader.
func sameAsArrow(t *rapid.T, arrow *file.Reader, group, column int, v *parquetfile.Values) {
	c, err := arrow.RowGroup(group).Column(column)
	require.NoError(t, err)
	levels := make([]int16, v.Rows)
	n := 0
	var same func(row, at int) bool
	switch c := c.(type) {
	case *file.BooleanColumnChunkReader:
		all := make([]bool, v.Rows)
		n, err = readAll(c.ReadBatch, all, levels)
		same = func(row, at int) bool { return v.Bools[row] == all[at] }
	case *file.Int32ColumnChunkReader:
		all := make([]int32, v.Rows)
		n, err = readAll(c.ReadBatch, all, levels)
		same = func(row, at int) bool { return v.Ints[row] == int64(all[at]) }
	case *file.Int64ColumnChunkReader:
		all := make([]int64, v.Rows)
		n, err = readAll(c.ReadBatch, all, levels)
		same = func(row, at int) bool { return v.Ints[row] == all[at] }
	case *file.Float64ColumnChunkReader:
		all := make([]float64, v.Rows)
		n, err = readAll(c.ReadBatch, all, levels)
		same = func(row, at int) bool { return math.Float64bits(v.Floats[row]) == math.Float64bits(all[at]) }
	case *file.ByteArrayColumnChunkReader:
		all := make([]parquet.ByteArray, v.Rows)
		n, err = readAll(c.ReadBatch, all, levels)
		same = func(row, at int) bool { return string(v.Texts.Row(row)) == string(all[at]) }
	}
	require.NoError(t, err)
	at := 0
	for row := range v.Rows {
		if v.Has(row) {
			require.True(t, same(row, at), "row %d", row)
			at++
		}
	}
	require.Equal(t, n, at)
}

func readAll[T any](read func(int64, []T, []int16, []int16) (int64, int, error), values []T, levels []int16) (int, error) {
	have := 0
	for row := 0; row < len(levels); {
		total, n, err := read(int64(len(levels)-row), values[have:], levels[row:], nil)
		if err != nil || total == 0 {
			return have, err
		}
		row, have = row+int(total), have+n
	}
	return have, nil
}

// sameBounds holds the statistics against the values.
func sameBounds(t *rapid.T, f *parquetfile.File, group, column int, v *parquetfile.Values) {
	nulls := int64(0)
	ints, floats, texts := false, false, false
	lowInt, highInt, okInt := f.IntBounds(group, column)
	lowFloat, highFloat, okFloat := f.FloatBounds(group, column)
	lowText, highText, okText := f.TextBounds(group, column)
	for row := range v.Rows {
		switch {
		case !v.Has(row):
			nulls++
		case okInt && len(v.Ints) > 0:
			ints = true
			require.LessOrEqual(t, lowInt, v.Ints[row])
			require.GreaterOrEqual(t, highInt, v.Ints[row])
		case okFloat:
			floats = true
			require.LessOrEqual(t, lowFloat, v.Floats[row])
			require.GreaterOrEqual(t, highFloat, v.Floats[row])
		case okText:
			texts = true
			require.LessOrEqual(t, string(lowText), string(v.Texts.Row(row)))
			require.GreaterOrEqual(t, string(highText), string(v.Texts.Row(row)))
		}
	}
	n, ok := f.Nulls(group, column)
	require.True(t, ok)
	require.Equal(t, nulls, n)
	if k := f.Columns()[column].Kind; nulls < int64(v.Rows) && k != parquetfile.Float64 && k != parquetfile.Bool {
		require.True(t, ints || floats || texts, "no bounds of %v", k)
	}
}

func TestRuns(t *testing.T) {
	t.Parallel()
	w := &written{columns: []parquetfile.Column{{Name: "a", Kind: parquetfile.Text}, {Name: "b", Kind: parquetfile.Text}}}
	g := group{rows: 300, chunks: make([]parquetfile.Chunk, 2)}
	for i := range g.rows {
		g.chunks[0].Texts = append(g.chunks[0].Texts, fmt.Sprint("few ", i/100))
		g.chunks[1].Texts = append(g.chunks[1].Texts, fmt.Sprint("many ", i/2))
	}
	g.chunks[1].Texts[299] = "one more so that no dictionary pays"
	w.groups = []group{g}
	w.write(t, 1)
	f, err := parquetfile.ReadFooter(bytes.NewReader(w.bytes), int64(len(w.bytes)))
	require.NoError(t, err)
	decoder, err := parquetfile.NewDecoder()
	require.NoError(t, err)
	var v parquetfile.Values
	for c, want := range []int{3, 151} {
		require.NoError(t, decoder.Read(bytes.NewReader(w.bytes), f, 0, c, &v))
		require.Equal(t, c == 1, v.Texts.Index == nil)
		runs := v.Runs(nil)
		require.Len(t, runs, want)
		start := 0
		for _, r := range runs {
			for row := start; row < r.End; row++ {
				require.Equal(t, g.chunks[c].Texts[row], string(r.Text))
			}
			start = r.End
		}
		require.Equal(t, g.rows, start)
	}
}

// TestDamagedPage changes one byte of every page's body: the checksum notices.
func TestDamagedPage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := drawFile(t)
		f, err := parquetfile.ReadFooter(bytes.NewReader(w.bytes), int64(len(w.bytes)))
		require.NoError(t, err)
		decoder, err := parquetfile.NewDecoder()
		require.NoError(t, err)
		g := rapid.IntRange(0, len(w.groups)-1).Draw(t, "group")
		c := rapid.IntRange(0, len(w.columns)-1).Draw(t, "column")
		end := f.ChunkEnd(g, c)
		data := bytes.Clone(w.bytes)
		data[end-1] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit") // the last byte of a data page's body
		var v parquetfile.Values
		err = decoder.Read(bytes.NewReader(data), f, g, c, &v)
		require.Error(t, err)
		require.Equal(t, fault.Corrupt, fault.KindOf(err))
	})
}

// TestDamagedFile changes bytes anywhere, cuts, and lies about checksums: an error or values, never a panic.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data := drawFile(t).bytes
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
			if rapid.Bool().Draw(t, "footer") {
				at = len(data) - 1 - at%min(len(data), 300)
			}
			data[at] = rapid.Byte().Draw(t, "byte")
		}
		if rapid.IntRange(0, 3).Draw(t, "cut") == 0 {
			data = data[:rapid.IntRange(0, len(data)).Draw(t, "length")]
		}
		readWhatGoes(t, data)
	})
}

func FuzzRead(f *testing.F) {
	w := &written{
		columns: []parquetfile.Column{{Name: "m", Kind: parquetfile.Text}}, groups: []group{{rows: 4000, chunks: make([]parquetfile.Chunk, 1)}},
	}
	for i := range 4000 {
		text := fmt.Sprint("a message of some length, so that its page has several blocks, and more of it: ", i, " ", i*7919)
		w.groups[0].chunks[0].Texts = append(w.groups[0].chunks[0].Texts, text)
	}
	w.write(f, 1)
	f.Add(w.bytes)
	for seed := range 20 {
		f.Add(rapid.Custom(func(t *rapid.T) []byte { return drawFile(t).bytes }).Example(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { readWhatGoes(t, data) })
}

// readWhatGoes reads bytes as a file. Every error is of the two kinds.
func readWhatGoes(t require.TestingT, data []byte) {
	in := bytes.NewReader(data)
	kinds := []fault.Kind{fault.Corrupt, fault.Unsupported}
	p, err := parquetfile.ReadFooter(in, int64(len(data)))
	if err != nil {
		require.Contains(t, kinds, fault.KindOf(err), "%v", err)
		return
	}
	require.Less(t, p.Size(), int64(200*len(data)+1<<16))
	decoder, err := parquetfile.NewDecoder()
	require.NoError(t, err)
	var v parquetfile.Values
	for g := range min(p.Groups(), 8) {
		if p.Rows(g) > 1<<16 {
			continue // a test need not wait for them
		}
		for c, column := range p.Columns() {
			p.IntBounds(g, c)
			p.FloatBounds(g, c)
			p.TextBounds(g, c)
			first := parquetfile.First{Group: g, Column: c, Rows: p.Rows(g) / 2}
			if err := decoder.ReadFirst(in, p, first, &v); err != nil {
				require.Contains(t, kinds, fault.KindOf(err), "%v", err)
			}
			if err := decoder.Read(in, p, g, c, &v); err != nil {
				require.Contains(t, kinds, fault.KindOf(err), "%v", err)
				continue
			}
			if column.Kind == parquetfile.Text || column.Kind == parquetfile.JSON {
				for row := range v.Rows {
					v.Texts.Row(row)
				}
			}
		}
	}
}

// TestShippedFile reads the file of format 1 that stays in testdata.
func TestShippedFile(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "testdata", "v1.parquet"))
	require.NoError(t, err)
	f, err := parquetfile.ReadFooter(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	decoder, err := parquetfile.NewDecoder()
	require.NoError(t, err)
	var v parquetfile.Values
	for g := range f.Groups() {
		for c := range f.Columns() {
			require.NoError(t, decoder.Read(bytes.NewReader(data), f, g, c, &v))
			require.Equal(t, f.Rows(g), v.Rows)
		}
	}
}

// TestFirstRows reads the beginning of row groups whose pages have several blocks, with nulls and without.
func TestFirstRows(t *testing.T) {
	t.Parallel()
	decoder, err := parquetfile.NewDecoder()
	require.NoError(t, err)
	var all, first parquetfile.Values
	rapid.Check(t, func(t *rapid.T) {
		const rows = 8192
		w := &written{columns: []parquetfile.Column{
			{Name: "a", Kind: parquetfile.Text, Required: rapid.Bool().Draw(t, "required")}, {Name: "b", Kind: parquetfile.Int64},
		}}
		g := group{rows: rows, chunks: []parquetfile.Chunk{{}, drawChunk(t, &w.columns[1], rows)}}
		long := rapid.SampledFrom([]int{0, 3, 100}).Draw(t, "long") // texts at the end are longer than those at the beginning
		if !w.columns[0].Required && rapid.Bool().Draw(t, "nulls") {
			g.chunks[0].Present = make([]bool, rows)
		}
		for i, v := range numbers(t, rows) {
			if p := g.chunks[0].Present; p != nil {
				if p[i] = v%5 > 0; !p[i] {
					continue
				}
			}
			text := fmt.Sprintf("%d %s %x", i, "request of a user that was served and more of it, and more"[:20+v%30], v)
			g.chunks[0].Texts = append(g.chunks[0].Texts, strings.Repeat(text, 1+int(v>>8)%(1+long*i/rows)))
		}
		w.groups = []group{g}
		w.write(t, 1)
		in := bytes.NewReader(w.bytes)
		f, err := parquetfile.ReadFooter(in, int64(len(w.bytes)))
		require.NoError(t, err)
		for c := range w.columns {
			require.NoError(t, decoder.Read(in, f, 0, c, &all))
			for range 3 {
				n := rapid.IntRange(1, rows).Draw(t, "rows")
				require.NoError(t, decoder.ReadFirst(in, f, parquetfile.First{Group: 0, Column: c, Rows: n}, &first))
				require.Equal(t, n, first.Rows)
				for row := range n {
					require.Equal(t, all.Has(row), first.Has(row))
					if c == 1 {
						require.Equal(t, all.Ints[row], first.Ints[row])
					} else if !bytes.Equal(all.Texts.Row(row), first.Texts.Row(row)) {
						require.Equal(t, string(all.Texts.Row(row)), string(first.Texts.Row(row)))
					}
				}
			}
		}
	})
}

// TestPagesTooLargeAreRefused writes a page of more bytes than is read at once: that is no damage.
func TestPagesTooLargeAreRefused(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w, err := parquetfile.NewWriter(&out, []parquetfile.Column{{Name: "m", Kind: parquetfile.Text}}, parquetfile.Options{Level: 1})
	require.NoError(t, err)
	const rows = 130
	chunk := &parquetfile.Chunk{}
	for i := range rows {
		chunk.Texts = append(chunk.Texts, strconv.Itoa(i)+strings.Repeat("x", 1<<20))
	}
	w.BeginRowGroup(rows)
	_, err = w.WriteChunk(chunk)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	in := bytes.NewReader(out.Bytes())
	f, err := parquetfile.ReadFooter(in, in.Size())
	require.NoError(t, err)
	d, err := parquetfile.NewDecoder()
	require.NoError(t, err)
	var v parquetfile.Values
	require.Equal(t, fault.Unsupported, fault.KindOf(d.Read(in, f, 0, 0, &v)))
	again, err := parquetfile.NewWriter(io.Discard, f.Columns(), parquetfile.Options{})
	require.NoError(t, err)
	require.False(t, again.CanCopy(in, f, 0, 0))
}
