package compactor

import "github.com/millstream/millstream/internal/fault"

// A merge leaves this share of the file system free, at most maxSpare: what is left on a nearly full disk belongs to the log and to the
// flushes, which free it again, while the sources of a merge keep their room until the deletion grace is over.
const (
	spareShare = 8
	maxSpare   = 1 << 30
)

// checkRoom reports as Unavailable that the disk has no room to merge a group beside what must stay free.
func (c *Compactor) checkRoom(g group) error {
	if c.deps.Space == nil {
		return nil
	}
	total, free, err := c.deps.Space(c.opts.StagingDir)
	if err != nil {
		return err
	}
	need := min(total/spareShare, maxSpare)
	for _, s := range g.sources {
		need += s.Bytes
	}
	if free < need {
		return fault.New(fault.Unavailable, "the disk has %d bytes left, a merge needs %d to leave room for the log", free, need)
	}
	return nil
}
