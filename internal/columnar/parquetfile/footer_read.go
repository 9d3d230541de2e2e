package parquetfile

import (
	"math"
	"unsafe"

	"github.com/millstream/millstream/internal/fault"
)

// footerParser reads the file's metadata.
type footerParser struct {
	thriftReader
	file    *File
	end     int64  // of the pages: where the footer begins
	unknown string // what Writer does not write
}

func (p *footerParser) parse() error {
	rows := int64(-1)
	for id := int16(0); ; {
		typ, ok := p.next(&id)
		if !ok {
			break
		}
		switch {
		case id == 2 && typ == thriftList:
			p.structs(p.schemaElement)
		case id == 3 && typ == thriftI64:
			rows = p.int()
		case id == 4 && typ == thriftList:
			p.structs(p.rowGroup)
		case id == 5 && typ == thriftList:
			p.structs(p.keyValue)
		default:
			p.skip(typ)
		}
	}
	for _, n := range p.file.rows {
		rows -= int64(n)
	}
	switch {
	case p.unknown != "":
		return fault.New(fault.Unsupported, "a data file with %s", p.unknown)
	case p.failed, rows != 0, p.pos != len(p.buf), len(p.file.chunks) != len(p.file.rows)*len(p.file.columns):
		return fault.New(fault.Corrupt, "the footer of a data file is damaged")
	}
	return nil
}

// refuse notes what the reader does not read and ends the reading.
func (p *footerParser) refuse(what string) {
	if p.unknown == "" && !p.failed {
		p.unknown = what
	}
	p.fail()
}

// element is what the schema says of a column.
type element struct {
	physical, repetition, children int32
	logical                        int16 // field of LogicalType, 0 when there is none
	unit                           int16 // field of TimeUnit
}

// schemaElement reads the root, which comes first, or a column.
func (p *footerParser) schemaElement(i, n int) {
	e := element{physical: -1}
	c := p.element(&e)
	switch {
	case i == 0 && int(e.children) != n-1:
		p.refuse("nested columns")
	case i == 0:
	case c.Kind == 0 || e.children != 0 || e.repetition > 1 || e.repetition < 0:
		p.refuse("a column of another kind")
	default:
		p.file.columns = append(p.file.columns, c)
	}
}

func (p *footerParser) element(e *element) (c Column) {
	for id := int16(0); ; {
		typ, ok := p.next(&id)
		if !ok {
			break
		}
		switch {
		case id == 1 && typ == thriftI32:
			e.physical = p.int32()
		case id == 3 && typ == thriftI32:
			e.repetition = p.int32()
		case id == 4 && typ == thriftBinary:
			c.Name = string(p.bytes())
		case id == 5 && typ == thriftI32:
			e.children = p.int32()
		case id == 9 && typ == thriftI32:
			c.FieldID = p.int32()
		case id == 10 && typ == thriftStruct:
			p.logicalType(e)
		default:
			p.skip(typ)
		}
	}
	c.Required, c.Kind = e.repetition == 0, e.kind()
	return c
}

// Fields of LogicalType, and of the unit of its times.
const (
	logicalText = 1
	logicalTime = 8
	logicalInt  = 10
	logicalJSON = 12
	unitMicros  = 2
)

// logicalType reads the one field that is set.
func (p *footerParser) logicalType(e *element) {
	for id := int16(0); ; {
		typ, ok := p.next(&id)
		if !ok {
			return
		}
		e.logical = id
		if id != logicalTime || typ != thriftStruct {
			p.skip(typ)
			continue
		}
		for field := int16(0); ; {
			typ, ok := p.next(&field)
			if !ok {
				break
			}
			if field != 2 || typ != thriftStruct {
				p.skip(typ)
				continue
			}
			for unit := int16(0); ; {
				typ, ok := p.next(&unit)
				if !ok {
					break
				}
				e.unit = unit
				p.skip(typ)
			}
		}
	}
}

// kind is 0 for what Writer does not write.
func (e *element) kind() Kind {
	switch {
	case e.physical == physBool && e.logical == 0:
		return Bool
	case e.physical == physInt32 && e.logical == logicalInt:
		return Int16
	case e.physical == physInt64 && e.logical == 0:
		return Int64
	case e.physical == physInt64 && e.logical == logicalTime && e.unit == unitMicros:
		return Timestamp
	case e.physical == physDouble && e.logical == 0:
		return Float64
	case e.physical == physBytes && e.logical == logicalText:
		return Text
	case e.physical == physBytes && e.logical == logicalJSON:
		return JSON
	default:
		return 0
	}
}

func (p *footerParser) keyValue(int, int) {
	var kv [2]string
	for id := int16(0); ; {
		typ, ok := p.next(&id)
		if !ok {
			break
		}
		if (id == 1 || id == 2) && typ == thriftBinary {
			b := p.bytes() // may be large, and the footer stays
			kv[id-1] = unsafe.String(unsafe.SliceData(b), len(b))
		} else {
			p.skip(typ)
		}
	}
	p.file.meta = append(p.file.meta, kv)
}

func (p *footerParser) rowGroup(i, n int) {
	f := p.file
	if i == 0 {
		if len(f.columns) == 0 {
			p.fail() // the schema comes first
			return
		}
		// A chunk takes more than a byte of the footer, so a count beyond it is damage.
		if n > len(p.buf)/len(f.columns) {
			p.fail()
			return
		}
		f.rows, f.chunks = make([]int32, 0, n), make([]chunkPlace, 0, n*len(f.columns))
	}
	rows := int64(-1)
	before := len(f.chunks)
	for id := int16(0); ; {
		typ, ok := p.next(&id)
		if !ok {
			break
		}
		switch {
		case id == 1 && typ == thriftList:
			p.structs(p.columnChunk)
		case id == 3 && typ == thriftI64:
			rows = p.int()
		default:
			p.skip(typ)
		}
	}
	if len(f.chunks)-before != len(f.columns) || rows < 1 || rows > maxGroupRows {
		p.fail()
		return
	}
	f.rows = append(f.rows, int32(rows))
}

func (p *footerParser) columnChunk(i, _ int) {
	if i >= len(p.file.columns) {
		p.fail()
		return
	}
	c := chunkPlace{nulls: -1, low: bound{length: -1}, high: bound{length: -1}, codec: -1}
	for id := int16(0); ; {
		typ, ok := p.next(&id)
		if !ok {
			break
		}
		switch {
		case id == 1:
			p.refuse("a column in another file")
		case id == 3 && typ == thriftStruct:
			p.columnMeta(&c, &p.file.columns[i])
		default:
			p.skip(typ)
		}
	}
	if c.offset < int64(len(magic)) || c.size < 1 || c.size > p.end || c.offset > p.end-c.size {
		p.fail()
		return
	}
	if c.codec != codecNone && c.codec != codecZstd {
		p.refuse("another compression")
	}
	p.file.chunks = append(p.file.chunks, c)
}

func (p *footerParser) columnMeta(c *chunkPlace, column *Column) {
	data, dict := int64(0), int64(0)
	for id := int16(0); ; {
		typ, ok := p.next(&id)
		if !ok {
			break
		}
		switch {
		case id == 1 && typ == thriftI32:
			if p.int32() != physical(column.Kind) {
				p.fail()
			}
		case id == 4 && typ == thriftI32:
			c.codec = p.int32()
		case id == 7 && typ == thriftI64:
			c.size = p.int()
		case id == 9 && typ == thriftI64:
			data = p.int()
		case id == 11 && typ == thriftI64:
			dict = p.int()
		case id == 12 && typ == thriftStruct:
			p.statistics(c)
		default:
			p.skip(typ)
		}
	}
	if c.offset = data; dict > 0 && dict < data {
		c.offset = dict
	}
}

func (p *footerParser) statistics(c *chunkPlace) {
	for id := int16(0); ; {
		typ, ok := p.next(&id)
		if !ok {
			return
		}
		switch {
		case id == 3 && typ == thriftI64:
			c.nulls = p.int()
		case id == 5 && typ == thriftBinary:
			c.high = p.bound()
		case id == 6 && typ == thriftBinary:
			c.low = p.bound()
		case id == 7:
			c.highExact = typ == thriftTrue
		case id == 8:
			c.lowExact = typ == thriftTrue
		default:
			p.skip(typ)
		}
	}
}

func (p *footerParser) bound() bound {
	b := p.bytes()
	if len(b) > math.MaxInt32 || p.failed {
		return bound{length: -1}
	}
	return bound{at: uint32(p.pos - len(b)), length: int32(len(b))}
}
