package rowfind

import (
	"container/list"
	"fmt"
	"os"
	"sync"

	"github.com/millstream/millstream/internal/columnar/parquetfile"
	"github.com/millstream/millstream/internal/fault"
)

// DefaultFooterBytes is how much memory a Footers cache takes at most.
const DefaultFooterBytes = 32 << 20

// Footers keeps what the footers of data files say, those that were used last, and memory for the searches over them. Files never change
// under their number.
type Footers struct {
	maxBytes int64
	scratch  sync.Pool // of *scratch

	mu struct {
		sync.Mutex
		bytes int64
		files map[int64]*list.Element
		used  *list.List // of footer, the last used first
	}
}

type footer struct {
	id   int64
	file *parquetfile.File
}

// NewFooters returns an empty cache of at most so many bytes; 0 = DefaultFooterBytes.
func NewFooters(maxBytes int64) *Footers {
	if maxBytes == 0 {
		maxBytes = DefaultFooterBytes
	}
	f := &Footers{maxBytes: maxBytes}
	f.mu.files, f.mu.used = make(map[int64]*list.Element), list.New()
	return f
}

// get returns the footer of an open file, which the number tells from all others.
func (f *Footers) get(id int64, file *os.File) (*parquetfile.File, error) {
	if p := f.cached(id); p != nil {
		return p, nil
	}
	stat, err := file.Stat()
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "open a data file")
	}
	p, err := parquetfile.ReadFooter(file, stat.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	f.add(id, p)
	return p, nil
}

func (f *Footers) cached(id int64) *parquetfile.File {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.mu.files[id]
	if !ok {
		return nil
	}
	f.mu.used.MoveToFront(e)
	return e.Value.(*footer).file //nolint:forcetypeassert // nothing else is put in
}

func (f *Footers) add(id int64, p *parquetfile.File) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.mu.files[id]; ok || p.Size() > f.maxBytes {
		return
	}
	f.mu.files[id] = f.mu.used.PushFront(&footer{id, p})
	f.mu.bytes += p.Size()
	for f.mu.bytes > f.maxBytes {
		last := f.mu.used.Remove(f.mu.used.Back()).(*footer) //nolint:forcetypeassert // nothing else is put in
		delete(f.mu.files, last.id)
		f.mu.bytes -= last.file.Size()
	}
}
