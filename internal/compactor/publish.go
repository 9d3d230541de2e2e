package compactor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/fault"
)

// upload is when the first object of a result began to be uploaded.
type upload time.Time

// begin notes the start of an upload.
func (c *Compactor) begin() upload { return upload(c.deps.Clock.Now()) }

// register publishes uploaded objects by one step of the catalog, which is asked again while its outcome is unknown. published is false
// when the objects are certainly not registered and may be dropped: another node was first (no error), or the upload has taken so long
// that the reconciler may take the objects for orphans.
func (c *Compactor) register(ctx context.Context, u upload, step func() error) (published bool, err error) {
	for attempt := range catalogAttempts {
		if age := c.deps.Clock.Now().Sub(time.Time(u)); age > maxUploadAge {
			return attempt > 0, errors.Join(err, fault.New(fault.Unavailable, "uploading took %s, which is too long to register", age))
		}
		switch err = step(); {
		case err == nil:
			return true, nil
		case fault.Is(err, fault.Conflict):
			return false, nil
		case ctx.Err() != nil:
			return true, err
		}
	}
	return true, err
}

// drop deletes objects of this process that are not registered. Empty keys are none.
func (c *Compactor) drop(ctx context.Context, keys ...string) error {
	var errs []error
	for _, key := range keys {
		if key != "" {
			errs = append(errs, c.deps.Objects.Delete(ctx, key))
		}
	}
	return errors.Join(errs...)
}

// pin makes the files of segments readable and checks their bytes. Files that are missing or damaged are noted and left alone until the
// reconciler looks again.
func (c *Compactor) pin(ctx context.Context, segments []catalog.Segment) (paths []string, release func(), err error) {
	paths, release, err = c.deps.Files.Pin(ctx, segments)
	if err != nil {
		if isDamage(err) {
			return nil, nil, errors.Join(err, c.findBroken(ctx, segments))
		}
		return nil, nil, err
	}
	var errs []error
	for i, s := range segments {
		if err := checkFile(paths[i], s.Checksum); err != nil {
			c.setBroken(s, err)
			errs = append(errs, fmt.Errorf("segment %d: %w", s.ID, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		release()
		return nil, nil, err
	}
	return paths, release, nil
}

// findBroken pins each segment alone to find those at fault.
func (c *Compactor) findBroken(ctx context.Context, segments []catalog.Segment) error {
	for _, s := range segments {
		_, release, err := c.deps.Files.Pin(ctx, []catalog.Segment{s})
		switch {
		case err == nil:
			release()
		case isDamage(err):
			c.setBroken(s, err)
		default:
			return err
		}
	}
	return nil
}

// isDamage reports whether trying again is of no use.
func isDamage(err error) bool { return fault.Is(err, fault.Corrupt) || fault.Is(err, fault.NotFound) }

func (c *Compactor) setBroken(s catalog.Segment, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.mu.broken[s.ID]; known {
		return
	}
	c.mu.broken[s.ID] = struct{}{}
	c.metrics.unreadable.Inc()
	c.deps.Logger.Error("segment cannot be read and is left alone", "org", string(s.Org), "segment", int64(s.ID), "key", s.Key, "error", err)
}

func (c *Compactor) isBroken(id catalog.SegmentID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, broken := c.mu.broken[id]
	return broken
}

func checkFile(path, want string) (err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return fault.Wrap(fault.NotFound, err, "open a data file")
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	got, err := columnar.Checksum(f)
	if err == nil && got != want {
		err = fault.New(fault.Corrupt, "checksum is %s instead of %s", got, want)
	}
	return err
}
