package compactor

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"

	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/objstore"
	"github.com/millstream/millstream/internal/searchindex"
)

// What the looks of an hour read, over all orgs of this node.
const (
	sampleBytes = 256 << 20
	sampleStats = 5000 // objects whose size is asked for
)

// sample compares sizes and bytes of objects that are chosen at random with the catalog. Its share of what an hour's looks may read is
// that of one org among orgs.
func (l *orgLook) sample(ctx context.Context, orgs int) error {
	bytes, stats := int64(sampleBytes/orgs), max(sampleStats/orgs, 1)
	var errs []error
	for _, i := range rand.Perm(len(l.objects)) {
		stats--
		if stats < 0 || ctx.Err() != nil {
			break
		}
		o := l.objects[i]
		if o.seen {
			errs = append(errs, l.sampleSegment(ctx, o, spend(&bytes, o.bytes)))
		}
		if o.indexSeen {
			errs = append(errs, l.sampleIndex(ctx, o, spend(&bytes, o.index)))
		}
	}
	return errors.Join(errs...)
}

// spend reports whether an object may be read. One that is larger than what is left is read with the chance that keeps to the budget in
// the mean, so that large objects have their turn.
func spend(budget *int64, size int64) bool {
	if *budget <= 0 {
		return false
	}
	read := size <= *budget || rand.Int64N(size) < *budget
	*budget -= size
	return read
}

// sampleSegment looks at the data object of a live segment.
func (l *orgLook) sampleSegment(ctx context.Context, o object, read bool) error {
	ok, err := l.inspect(ctx, o, kindSegment)
	if err != nil || !ok || !read {
		return err
	}
	r, err := l.deps.Objects.Get(ctx, o.key)
	if err != nil {
		return ignoreMissing(err)
	}
	sum, err := columnar.Checksum(r)
	if err = errors.Join(err, r.Close()); err != nil || sum == o.checksum {
		return err
	}
	return l.report(ctx, o, kindSegment, reasonChecksum)
}

// sampleIndex looks at the index object of a live segment.
func (l *orgLook) sampleIndex(ctx context.Context, o object, read bool) error {
	ok, err := l.inspect(ctx, o, kindIndex)
	if err != nil || !ok || !read {
		return err
	}
	data, err := objstore.ReadAll(ctx, l.deps.Objects, o.indexKey)
	if err != nil {
		return ignoreMissing(err)
	}
	if checkIndex(ctx, data, searchindex.Identity{Key: o.key, Checksum: o.checksum}) != nil {
		return l.report(ctx, o, kindIndex, reasonChecksum)
	}
	return nil
}

// checkIndex returns why an index object cannot be used.
func checkIndex(ctx context.Context, data []byte, id searchindex.Identity) error {
	x, err := searchindex.Open(ctx, func(_ context.Context, off int64, buf []byte) error {
		if off < 0 || off > int64(len(data)) || copy(buf, data[off:]) < len(buf) {
			return io.ErrUnexpectedEOF
		}
		return nil
	}, int64(len(data)), id)
	if err != nil {
		return err
	}
	return x.Check(ctx)
}

// ignoreMissing drops the error of an object that has gone since it was listed: the next look tells why.
func ignoreMissing(err error) error {
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}
