package otlp

import (
	"math"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
)

// maxRequestBytes bounds the rows of one request in memory. A body can ask for far more by many records under a large resource,
// whose attributes every row repeats.
const maxRequestBytes = 256 << 20

// decoder reads one request.
type decoder struct {
	enc    Encoding
	opts   wire.Options
	window wire.Window
	tree   *tree
	shared constants // columns of the resource and scope at hand
	big    bool      // resource or scope at hand is above the row limit
	labels bool      // shared columns become labels
	row    row
	chunk  *wire.Chunk
	res    wire.Result     // Accepted and Settled count once the rows are emitted
	held   []*signal.Batch // wait for the whole body to be decoded
	bytes  int             // of held, about
	index  int             // of the record at hand among the request's
	record func(raw []byte) error
}

func newDecoder(enc Encoding, opts wire.Options, stream signal.Stream, defined func([]byte) bool) *decoder {
	d := &decoder{enc: enc, opts: opts.WithDefaults(), tree: newTree()}
	d.window = d.opts.Window()
	d.shared = newConstants(d.tree)
	d.chunk = wire.NewChunk(stream, d.hold, &wire.Result{})
	d.row = row{b: d.chunk.Builder, t: d.tree, maxColumns: d.opts.MaxColumns, defined: defined}
	return d
}

// decode reads the body, and emits its rows when all of it was read.
func (d *decoder) decode(env *envelope, body []byte, emit wire.Emit) (wire.Result, error) {
	defer d.release()
	if int64(len(body)) > d.opts.MaxBodyBytes {
		return wire.Result{}, fault.New(fault.TooLarge, "the body has %d bytes, the limit is %d", len(body), d.opts.MaxBodyBytes)
	}
	if d.enc == JSON {
		if err := checkJSONRequest(env.request, body); err != nil {
			return wire.Result{}, invalid(err)
		}
	}
	err := d.each(env.request, body, func(_ int, v value) error {
		return d.resource(env, v.raw)
	})
	if err == nil {
		err = d.chunk.Flush(d.index)
	}
	if err != nil {
		return wire.Result{}, invalid(err)
	}
	return d.emit(emit)
}

func (d *decoder) hold(b *signal.Batch) error {
	d.held = append(d.held, b)
	return nil
}

func (d *decoder) emit(emit wire.Emit) (wire.Result, error) {
	for len(d.held) > 0 {
		b := d.held[0]
		d.held = d.held[1:]
		rows, settled := b.Rows(), b.Settled
		if err := emit(b); err != nil {
			return d.res, err
		}
		d.res.Accepted += rows
		d.res.Settled = settled
	}
	d.res.Settled = d.index
	return d.res, nil
}

func (d *decoder) release() {
	for _, b := range d.held {
		b.Release()
	}
	d.held = nil
	if r := d.chunk.Builder.Finish(); r != nil {
		r.Release()
	}
}

// each visits the fields of a message in the request's encoding.
func (d *decoder) each(m *message, raw []byte, visit visitor) error {
	if d.enc == JSON {
		return d.tree.eachJSON(m, raw, visit)
	}
	return eachProto(m, raw, visit)
}

// verify checks a message that is not kept: it is refused as if it had been read. Of JSON the syntax has been checked already, which
// must do.
func (d *decoder) verify(m *message, raw []byte) error {
	if d.enc == JSON {
		return nil
	}
	return d.tree.checkProto(m, raw)
}

// keyValue adds the KeyValue in raw to l.
func (d *decoder) keyValue(l *list, raw []byte) error {
	n := d.tree.push(l, nil)
	if d.enc == JSON {
		return d.tree.jsonKeyValue(n, raw, 0)
	}
	return d.tree.protoKeyValue(n, raw, 0)
}

// anyValue reads the AnyValue in raw into node n, over what an earlier one of the same field has left there; into a new node when n
// is 0. It returns the node.
func (d *decoder) anyValue(n int32, raw []byte) (int32, error) {
	if n == 0 {
		n = d.tree.add(0, 0, nil)
	}
	if d.enc == JSON {
		return n, d.tree.jsonAnyValue(n, raw, 0)
	}
	return n, d.tree.protoAnyValue(n, raw, 0)
}

// resource reads the records of one resource. The resource is read first, wherever it stands.
func (d *decoder) resource(env *envelope, raw []byte) error {
	defer d.leave(d.tree.mark(), len(d.shared.fields), d.big)
	err := d.owner(env.resource, raw, resourcePrefix, d.readResource)
	if err != nil {
		return err
	}
	return d.each(env.resource, raw, func(id int, v value) error {
		if id != groupItems {
			return nil
		}
		return d.scope(env, v.raw)
	})
}

func (d *decoder) scope(env *envelope, raw []byte) error {
	defer d.leave(d.tree.mark(), len(d.shared.fields), d.big)
	err := d.owner(env.scope, raw, scopePrefix, d.readScope)
	if err != nil {
		return err
	}
	return d.each(env.scope, raw, func(id int, v value) error {
		if id != groupItems {
			return nil
		}
		return d.record(v.raw)
	})
}

// leave forgets what a resource or scope added.
func (d *decoder) leave(m mark, fields int, big bool) {
	d.shared.cut(fields)
	d.tree.reset(m)
	d.big = big
}

// owner is a resource or scope. Of a field that stands twice the later counts, as protobuf says.
type owner struct {
	attributes               list
	schemaURL, name, version []byte
	dropped                  uint64
}

// owner reads the resource of a Resource… message, or the scope of a Scope… message, into the shared columns.
func (d *decoder) owner(m *message, raw []byte, prefix string, read func(raw []byte, o *owner) error) error {
	var o owner
	err := d.each(m, raw, func(id int, v value) error {
		switch id {
		case groupSchemaURL:
			o.schemaURL = d.tree.keep(v.raw)
		case groupOwner:
			d.big = d.big || len(v.raw) > d.opts.MaxLineBytes
			return read(v.raw, &o)
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.shared.text(prefix, fieldSchemaURL, o.schemaURL)
	d.shared.text(prefix, fieldName, o.name)
	d.shared.text(prefix, fieldVersion, o.version)
	if !d.labels { // a count of dropped attributes is no part of a series' identity, so metrics do without
		d.shared.count(prefix, fieldDropped, o.dropped)
	}
	d.shared.attributes(prefix, o.attributes.first)
	return nil
}

func (d *decoder) readResource(raw []byte, o *owner) error {
	return d.each(resourceMessage, raw, func(id int, v value) error {
		switch id {
		case resourceAttributes:
			return d.keyValue(&o.attributes, v.raw)
		case resourceDropped:
			o.dropped = v.num
		case resourceEntities:
			return d.verify(entityRefMessage, v.raw)
		}
		return nil
	})
}

func (d *decoder) readScope(raw []byte, o *owner) error {
	return d.each(scopeMessage, raw, func(id int, v value) error {
		switch id {
		case scopeName:
			o.name = d.tree.keep(v.raw)
		case scopeVersion:
			o.version = d.tree.keep(v.raw)
		case scopeAttributes:
			return d.keyValue(&o.attributes, v.raw)
		case scopeDropped:
			o.dropped = v.num
		}
		return nil
	})
}

// admit reports whether a record of size bytes may be read, making room for its row; a refused one is counted and done.
func (d *decoder) admit(what string, size int) (bool, error) {
	if size > d.opts.MaxLineBytes {
		d.res.RejectLong(d.index, what, int64(size), d.opts.MaxLineBytes)
		d.index++
		return false, nil
	}
	if d.big {
		d.reject(wire.Reject(wire.LineTooLong, "the resource or scope of the %s is above %d bytes (max_line_size)", what, d.opts.MaxLineBytes))
		d.index++
		return false, nil
	}
	before := d.chunk.Builder.Bytes()
	if err := d.chunk.Room(size+d.shared.bytes, d.index); err != nil {
		return false, err
	}
	if d.chunk.Builder.Rows() == 0 {
		d.bytes += before
	}
	if d.bytes+d.chunk.Builder.Bytes() > maxRequestBytes {
		return false, fault.New(fault.TooLarge, "the request's rows take more than %d bytes with their resource and scope attributes: "+
			"send fewer records at once", maxRequestBytes)
	}
	return true, nil
}

func (d *decoder) reject(err error) { d.res.Reject(d.index, err) }

// finish closes the open row, or takes it back when a row of this time is refused.
func (d *decoder) finish(nanos uint64) {
	if err := d.checkTime(nanos); err != nil {
		d.row.b.AbortRow()
		d.reject(err)
	} else {
		d.row.end(int64(nanos))
	}
	d.index++
}

func (d *decoder) checkTime(nanos uint64) error {
	if nanos > math.MaxInt64 {
		return wire.Reject(wire.BadTime, "time %d ns lies after the year 2262", nanos)
	}
	return d.window.Check(int64(nanos))
}

// received returns the first of the times that is not 0, else the time of receipt, in nanoseconds.
func (d *decoder) received(times ...uint64) uint64 {
	for _, t := range times {
		if t != 0 {
			return t
		}
	}
	return uint64(d.window.Received())
}

// timestamp writes a time to the microsecond; 0 is none, and so is one that has no column's range.
func (d *decoder) timestamp(column string, nanos uint64) {
	if nanos != 0 {
		d.row.b.SetTimestamp(d.row.b.OwnColumn(column), int64(nanos/1000))
	}
}
