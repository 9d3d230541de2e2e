package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"
)

// Damage is a range of bytes of a segment that could not be replayed.
type Damage struct {
	Segment       string // path of the segment file
	Offset, Bytes int64
	// Known tells that the head of the damaged record is intact; Key, Seq and LSN are then those of the record.
	Known bool
	Key   Key
	Seq   uint64
	LSN   LSN
	// AfterLSN and BeforeLSN are those of the intact records around the range, so all LSNs between them are damaged or were refused.
	// AfterLSN is 0 at the start of a segment, BeforeLSN is 0 at the end of the log.
	AfterLSN, BeforeLSN LSN
	Cause               string
	// Report is the path of the text file that tells this beside a copy of the bytes; empty if there is none.
	Report string
	// Again tells that an earlier start has reported the range.
	Again bool
}

// damageOf describes an item of s.
func damageOf(s *segment, it item) Damage {
	d := Damage{
		Segment: s.path, Offset: it.offset, Bytes: it.size, Known: it.known,
		Key: it.header.key, Seq: it.header.seq, LSN: it.header.lsn, Cause: "checksum does not match",
	}
	if it.err != nil {
		d.Cause = "unreadable: " + it.err.Error()
	}
	return d
}

// report renders d for the person who looks after it.
func (d Damage) report(now time.Time) string {
	var b strings.Builder
	line := func(name string, v any) { fmt.Fprintf(&b, "%-12s %v\n", name+":", v) }
	line("found", now.UTC().Format(time.RFC3339))
	line("cause", d.Cause)
	line("segment", d.Segment)
	line("offset", d.Offset)
	line("bytes", d.Bytes)
	if d.Known {
		line("dataset", d.Key.Dataset)
		line("node", strconv.Quote(d.Key.Node))
		line("epoch", d.Key.Epoch)
		line("sequence", d.Seq)
		line("lsn", d.LSN)
	} else {
		line("record", "unknown, its head is damaged")
	}
	line("after lsn", d.AfterLSN)
	line("before lsn", d.BeforeLSN)
	return b.String()
}

func (l *Log) quarantinePath(name string) string { return path.Join(l.opts.Dir, quarantineDir, name) }

// Quarantine keeps a record that the caller cannot use, alone: its payload goes to quarantine/record-<dataset>-<epoch>-<seq>.bin, the
// cause and the key to a .txt file of that name, both synced. Called from the callback of Replay for the record at hand, it also takes
// the record out of the log. At any other time the record, if it is in the log, still waits for Release. A repeat overwrites.
func (l *Log) Quarantine(r Record, cause error) error {
	base := fmt.Sprintf("record-%d-%d-%d", r.Dataset, r.Epoch, r.Seq)
	d := Damage{
		Bytes: int64(len(r.Payload)), Known: true, Key: r.Key, Seq: r.Seq,
		Cause: cause.Error(), Report: l.quarantinePath(base + ".txt"),
	}
	if err := l.keepEvidence(base, d, bytes.NewReader(r.Payload)); err != nil {
		return fmt.Errorf("quarantine record %d of %s: %w", r.Seq, r.Key, err)
	}
	l.metrics.quarantined.Inc()
	l.logger.Error("set a record aside that cannot be used", "key", r.String(), "seq", r.Seq, "report", d.Report, "error", cause)
	l.mu.Lock()
	if q := l.mu.replaying; q != nil && q.key == r.Key && q.seq == r.Seq {
		q.quarantined = true
	}
	l.mu.Unlock()
	return nil
}

// quarantineDamage copies the range d of s into quarantine. The names depend on the place alone, so a repeated replay does not pile up
// copies.
func (l *Log) quarantineDamage(s *segment, f io.ReaderAt, d *Damage) error {
	base := strings.TrimSuffix(path.Base(s.path), segmentExt) + "-" + strconv.FormatInt(d.Offset, 10)
	name := l.quarantinePath(base + ".txt")
	if old, err := l.fs.Open(name); err == nil {
		d.Report, d.Again = name, true
		return old.Close()
	}
	if err := l.keepEvidence(base, *d, io.NewSectionReader(f, d.Offset, d.Bytes)); err != nil {
		return fmt.Errorf("quarantine %d bytes at %d of %s: %w", d.Bytes, d.Offset, s.path, err)
	}
	d.Report = name
	l.metrics.quarantined.Inc()
	return nil
}

// keepEvidence writes base.bin from data and then base.txt, synced. Unreadable parts of data are left out.
func (l *Log) keepEvidence(base string, d Damage, data io.Reader) error {
	dir := path.Join(l.opts.Dir, quarantineDir)
	if err := errors.Join(l.fs.MkdirAll(dir), l.fs.SyncDir(l.opts.Dir)); err != nil {
		return err
	}
	if err := l.writeFile(path.Join(dir, base+".bin"), data); err != nil && !isMediaError(err) {
		return err
	}
	if err := l.writeFile(path.Join(dir, base+".txt"), strings.NewReader(d.report(l.clock.Now()))); err != nil {
		return err
	}
	return l.fs.SyncDir(dir)
}

// writeFile replaces name by the bytes of data, synced. After an error nothing is left under name.
func (l *Log) writeFile(name string, data io.Reader) (err error) {
	_ = l.fs.Remove(name) // what matters is whether Create succeeds
	f, err := l.fs.Create(name)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(io.NewOffsetWriter(f, 0), struct{ io.Reader }{data}, make([]byte, 64<<10))
	if isMediaError(err) {
		return errors.Join(err, f.Sync(), f.Close())
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, l.fs.Remove(name))
	}
	return nil
}
