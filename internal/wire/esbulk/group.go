package esbulk

import (
	"slices"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/jsonrow"
)

// maxGroups is how many streams rows are held of at once.
const maxGroups = 256

// groups holds the rows of a request by stream until they make a chunk together.
type groups struct {
	req     Request
	opts    wire.Options
	emit    wire.Emit
	resp    *Response
	byIndex map[string]*group
	order   []*group // by first sight
	rows    int
	bytes   int
	cells   int
	held    []piece // of a request that is admitted as a whole
	refused error   // the last error of emit, or that of Request.Admit
}

// piece is a batch and the items of its rows.
type piece struct {
	batch *signal.Batch
	items []int
}

type group struct {
	stream  signal.Stream
	builder *signal.Builder
	row     *jsonrow.Decoder
	items   []int // of the rows, in order
}

func newGroups(req Request, opts wire.Options, emit wire.Emit, resp *Response) *groups {
	return &groups{req: req, opts: opts, emit: emit, resp: resp, byIndex: make(map[string]*group)}
}

// add adds a document as the row of item i. rejected says why it is no row; err ends the request.
func (g *groups) add(i int, index string, text []byte) (rejected, err error) {
	if g.rows >= wire.MaxChunkRows || (g.rows > 0 && g.bytes+2*len(text) > wire.MaxChunkBytes) || g.cells >= wire.MaxChunkCells {
		if err := g.flush(); err != nil {
			return nil, err
		}
	}
	x, ok := g.byIndex[index]
	if !ok {
		if len(g.order) == maxGroups {
			if err := g.flush(); err != nil {
				return nil, err
			}
			clear(g.byIndex)
			g.order = g.order[:0]
		}
		x = g.open(index)
	}
	before := x.builder.Bytes()
	if err := x.row.Decode(text); err != nil {
		return err, nil
	}
	x.items = append(x.items, i)
	g.rows++
	g.bytes += x.builder.Bytes() - before
	g.cells += x.builder.Columns()
	return nil, nil
}

func (g *groups) open(index string) *group {
	stream := signal.Stream{Org: g.req.Org, Database: g.req.Database, Signal: signal.Logs, Name: index}
	b := signal.NewBuilder()
	x := &group{stream: stream, builder: b, row: jsonrow.NewDecoder(b, stream, g.opts)}
	g.byIndex[index] = x
	g.order = append(g.order, x)
	return x
}

// flush hands over what is held, a batch a stream, and marks the items.
func (g *groups) flush() error {
	g.rows, g.bytes, g.cells = 0, 0, 0
	for _, x := range g.order {
		record := x.builder.Finish()
		if record == nil {
			continue
		}
		p := piece{&signal.Batch{Stream: x.stream, Record: record}, x.items}
		if g.req.Admit != nil {
			g.held = append(g.held, p)
			x.items = nil
			continue
		}
		err := g.write(p)
		x.items = x.items[:0]
		if err != nil {
			return err
		}
	}
	g.resp.Result.Settled = len(g.resp.Items)
	return nil
}

// write hands over a batch and marks its items. Its error is one that ends the request.
func (g *groups) write(p piece) error {
	err := g.emit(p.batch)
	g.mark(p.items, err)
	if fault.Is(err, fault.Canceled) || fault.Is(err, fault.Deadline) {
		return err
	}
	return nil
}

// deliver hands over what is held once all of it is admitted.
func (g *groups) deliver() error {
	rows := 0
	for _, p := range g.held {
		rows += len(p.items)
	}
	if rows == 0 {
		return nil
	}
	if err := g.req.Admit(rows); err != nil {
		for _, p := range g.held {
			p.batch.Release()
			g.mark(p.items, err)
		}
		g.held = nil
		return nil
	}
	for len(g.held) > 0 {
		p := g.held[0]
		g.held = g.held[1:]
		if err := g.write(p); err != nil {
			return err
		}
	}
	return nil
}

// drop releases what is held and returns the items of rows that were not handed over.
func (g *groups) drop() []int {
	var out []int
	for _, x := range g.order {
		out = append(out, x.items...)
	}
	for _, p := range g.held {
		p.batch.Release()
		out = append(out, p.items...)
	}
	g.held = nil
	slices.Sort(out)
	return out
}

// mark sets the items of a batch to stored, or to the error of emit.
func (g *groups) mark(items []int, err error) {
	if err != nil {
		g.refused = err
		for _, i := range items {
			g.resp.Items[i].fail(err)
		}
		return
	}
	g.resp.Result.Accepted += len(items)
	for _, i := range items {
		item := &g.resp.Items[i]
		item.stored()
		if item.ID == "" {
			item.ID = g.req.NewID()
		}
	}
}
