package compactor

import (
	"context"
	"errors"
	"time"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/objstore"
	"github.com/millstream/millstream/internal/tenant"
)

// object is what the reconciler keeps of a live segment.
type object struct {
	id            catalog.SegmentID
	dataset       catalog.DatasetID
	key, indexKey string
	bytes, index  int64
	checksum      string

	seen, indexSeen bool // in the listing
}

// of returns the key and the size of the segment's data or index object.
func (o object) of(kind string) (key string, size int64) {
	if kind == kindIndex {
		return o.indexKey, o.index
	}
	return o.key, o.bytes
}

// orgLook is one comparison of an org's objects with the catalog.
type orgLook struct {
	*Compactor
	org     tenant.ID
	objects []object
	lives   map[catalog.DatasetID]liveAt // asked for again when something seems wrong
}

// liveAt is the live segments of a dataset with their index keys, as of a moment.
type liveAt struct {
	indexes map[catalog.SegmentID]string
	at      time.Time
}

// lookAt takes the catalog's picture first and lists the objects then: what is registered meanwhile is not missed, and what is deleted
// meanwhile is asked about again.
func (c *Compactor) lookAt(ctx context.Context, org tenant.ID, datasets []catalog.Dataset, orgs int) error {
	l := &orgLook{Compactor: c, org: org, lives: make(map[catalog.DatasetID]liveAt)}
	for _, d := range datasets {
		segments, _, err := c.live(ctx, d.ID)
		if err != nil {
			return err
		}
		for _, s := range segments {
			l.objects = append(l.objects, object{
				id: s.ID, dataset: s.Dataset, key: s.Key, indexKey: s.IndexKey, bytes: s.Bytes, index: s.Index, checksum: s.Checksum,
			})
		}
	}
	if err := l.list(ctx); err != nil {
		return err
	}
	return errors.Join(l.reportMissing(ctx), l.sample(ctx, orgs))
}

// list marks the objects of live segments as seen and sweeps the others.
func (l *orgLook) list(ctx context.Context) error {
	objects := l.objects
	places := make(map[string]int, 2*len(objects))
	for i := range objects {
		places[objects[i].key] = i
		if objects[i].indexKey != "" {
			places[objects[i].indexKey] = i
		}
	}
	s := l.newSweep()
	err := l.deps.Objects.List(ctx, string(l.org)+"/", func(e objstore.Entry) error {
		i, live := places[e.Key]
		switch {
		case !live:
			return s.add(ctx, e)
		case objects[i].key == e.Key:
			objects[i].seen = true
		default:
			objects[i].indexSeen = true
		}
		return nil
	})
	return errors.Join(err, s.flush(ctx))
}

// reportMissing asks again about objects that were not listed, since their segments may have been retired and deleted meanwhile.
func (l *orgLook) reportMissing(ctx context.Context) error {
	var errs []error
	for _, o := range l.objects {
		if !o.seen {
			_, err := l.inspect(ctx, o, kindSegment)
			errs = append(errs, err)
		}
		if !o.indexSeen && o.indexKey != "" {
			_, err := l.inspect(ctx, o, kindIndex)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// inspect reports an object that is missing or of another size. ok is false when it is.
func (l *orgLook) inspect(ctx context.Context, o object, kind string) (ok bool, err error) {
	key, size := o.of(kind)
	info, err := l.deps.Objects.Stat(ctx, key)
	switch {
	case fault.Is(err, fault.NotFound):
		return false, l.report(ctx, o, kind, reasonMissing)
	case err != nil:
		return false, err
	case info.Size != size:
		return false, l.report(ctx, o, kind, reasonSize)
	default:
		return true, nil
	}
}

// report counts and logs what is wrong with a live segment. One that is not live any more is not reported.
func (l *orgLook) report(ctx context.Context, o object, kind, reason string) error {
	lives, err := l.isLive(ctx, o, kind)
	if err != nil || !lives {
		return err
	}
	l.metrics.issues.WithLabelValues(kind, reason).Inc()
	key, _ := o.of(kind)
	if kind == kindIndex {
		l.suspectIndex(o)
	}
	l.deps.Logger.Error("stored object is not what the catalog says", "kind", kind, "reason", reason, "org", string(l.org),
		"dataset", int64(o.dataset), "segment", int64(o.id), "key", key)
	return nil
}

// isLive reports whether a segment is still live, with the same index. An answer of the catalog serves for all of a dataset while
// nothing that has been retired since can have been deleted.
func (l *orgLook) isLive(ctx context.Context, o object, kind string) (bool, error) {
	now := l.deps.Clock.Now()
	known, ok := l.lives[o.dataset]
	if !ok || now.Sub(known.at) > l.opts.DeletionGrace/2 {
		segments, _, err := l.live(ctx, o.dataset)
		if err != nil {
			return false, err
		}
		known = liveAt{make(map[catalog.SegmentID]string, len(segments)), now}
		for _, s := range segments {
			known.indexes[s.ID] = s.IndexKey
		}
		l.lives[o.dataset] = known
	}
	index, lives := known.indexes[o.id]
	return lives && (kind != kindIndex || index == o.indexKey), nil
}
