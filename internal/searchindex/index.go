package searchindex

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/millstream/millstream/internal/fault"
)

// ReadRange fills buf with the bytes of the index object from offset off.
type ReadRange func(ctx context.Context, off int64, buf []byte) error

// ErrStale is returned by Open for an index that was built for another file.
var ErrStale = fault.New(fault.NotFound, "the index was built for another file")

// Index is an opened index object. It is immutable and safe for concurrent use.
type Index struct {
	read    ReadRange
	size    int64
	groups  int
	columns map[string]column
	id      Identity
	cache   *Cache // nil: filters are read each time
	object  string // its key in the cache
}

// column is where the filters of a column are.
type column struct {
	offset int64 // of the block in the object
	sizes  []uint32
	bytes  int64
	crc    uint32
}

// maxDirectory bounds what a damaged head can make Open allocate.
const maxDirectory = 64 << 20

// Open reads the directory of an index object of the given size. It returns ErrStale when the index is not for that file, and
// fault.Corrupt when it is damaged or of an unknown version.
func Open(ctx context.Context, read ReadRange, size int64, id Identity) (*Index, error) {
	head := make([]byte, headLen)
	if size < int64(headLen) {
		return nil, errDamaged()
	}
	if err := read(ctx, 0, head); err != nil {
		return nil, err
	}
	if v := binary.LittleEndian.Uint16(head[4:]); string(head[:4]) != magic || v < 1 || v > version {
		return nil, fault.New(fault.Corrupt, "the index object is of an unknown format")
	}
	n := int64(binary.LittleEndian.Uint32(head[6:]))
	if n > maxDirectory || int64(headLen)+n > size {
		return nil, errDamaged()
	}
	dir := make([]byte, n)
	if err := read(ctx, int64(headLen), dir); err != nil {
		return nil, err
	}
	if checksum(dir) != binary.LittleEndian.Uint32(head[10:]) {
		return nil, errDamaged()
	}
	x := &Index{read: read, size: size, columns: make(map[string]column), id: id}
	if err := x.parse(dir, id); err != nil {
		return nil, err
	}
	return x, nil
}

// parse reads the directory, whose checksum is right.
func (x *Index) parse(dir []byte, id Identity) error {
	d := decoder{rest: dir}
	found := Identity{Key: d.text(), Checksum: d.text()}
	x.groups = int(d.uvarint())
	columns := int(d.uvarint())
	if d.failed || x.groups > len(dir) || columns > len(dir) {
		return errDamaged()
	}
	if found != id {
		return ErrStale
	}
	blocks := int64(headLen + len(dir))
	for range columns {
		name := d.text()
		c := column{offset: blocks + int64(d.uint64()), sizes: make([]uint32, x.groups)}
		for i := range c.sizes {
			c.sizes[i] = uint32(d.uvarint())
			c.bytes += int64(c.sizes[i])
		}
		c.crc = d.uint32()
		if d.failed || c.offset < blocks || c.offset+c.bytes > x.size {
			return errDamaged()
		}
		x.columns[name] = c
	}
	return nil
}

// Check reads the filters of all columns and returns fault.Corrupt when some are damaged. Open has checked the directory.
func (x *Index) Check(ctx context.Context) error {
	for _, c := range x.columns {
		if _, err := x.block(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// block reads the filters of a column and checks them.
func (x *Index) block(ctx context.Context, c column) ([]byte, error) {
	block := make([]byte, c.bytes)
	if c.bytes == 0 {
		return block, nil
	}
	if err := x.read(ctx, c.offset, block); err != nil {
		return nil, err
	}
	if checksum(block) != c.crc {
		return nil, errDamaged()
	}
	return block, nil
}

// cachedBlock does the same but for those that are in the cache.
func (x *Index) cachedBlock(ctx context.Context, name string, c column) ([]byte, error) {
	if x.cache == nil {
		return x.block(ctx, c)
	}
	key := cacheKey{object: x.object, column: name}
	if held := x.cache.get(key); held != nil {
		return held.block, nil
	}
	block, err := x.block(ctx, c)
	if err == nil {
		x.cache.put(&cached{key: key, block: block, bytes: int64(len(block))})
	}
	return block, err
}

// RowGroups returns the number of row groups.
func (x *Index) RowGroups() int { return x.groups }

// Has reports whether a column of the file is indexed.
func (x *Index) Has(column string) bool {
	_, ok := x.columns[column]
	return ok
}

// Groups returns, for each row group, whether it can hold a value of the column that has all of the words, which are folded. A
// column that is not indexed can hold them anywhere.
func (x *Index) Groups(ctx context.Context, column string, folded []string) ([]bool, error) {
	masks, err := x.Slices(ctx, column, folded)
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(masks))
	for i, mask := range masks {
		out[i] = mask != 0
	}
	return out, nil
}

// Slices returns, for each row group, the mask of the slices in which a value of the column can be that has all of the words, which are
// folded: bit i for slice i, AllSlices when nothing is known. A column that is not indexed can hold them anywhere.
func (x *Index) Slices(ctx context.Context, column string, folded []string) ([]uint8, error) {
	out := slices.Repeat([]uint8{AllSlices}, x.groups)
	c, ok := x.columns[column]
	if !ok || len(folded) == 0 {
		return out, nil
	}
	hashes := make([]uint64, 0, len(folded))
	for _, w := range folded {
		if len(w) <= maxWord {
			hashes = append(hashes, hashWord(w))
		}
	}
	block, err := x.cachedBlock(ctx, column, c)
	if err != nil {
		return nil, err
	}
	for i, size := range c.sizes {
		if out[i], err = slicesOf(block[:size], hashes); err != nil {
			return nil, err
		}
		block = block[size:]
	}
	return out, nil
}

// decoder reads the directory's values; failed is set when they are cut short.
type decoder struct {
	rest   []byte
	failed bool
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.failed = true
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) take(n int) []byte {
	if n < 0 || n > len(d.rest) {
		d.failed = true
		return make([]byte, 8)
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) text() string {
	n := d.uvarint()
	if n > uint64(len(d.rest)) {
		d.failed = true
		return ""
	}
	return string(d.take(int(n)))
}

func (d *decoder) uint64() uint64 { return binary.LittleEndian.Uint64(d.take(8)) }
func (d *decoder) uint32() uint32 { return binary.LittleEndian.Uint32(d.take(4)) }
