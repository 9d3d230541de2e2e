package wal

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"strconv"
	"strings"
	"time"
)

const (
	segmentExt       = ".wal"
	segmentMagic     = "MSWALSEG"
	segmentVersion   = 1
	segmentFixedLen  = 72
	maxSegmentHeader = 64 << 10
	// maxVoids bounds the ranges in a header; see segmentHeader.voids.
	maxVoids = 4000
)

// lsnRange is a range of LSNs, both ends included.
type lsnRange struct{ first, last LSN }

func (r lsnRange) contains(lsn LSN) bool { return r.first <= lsn && lsn <= r.last }

// segmentHeader is the start of a segment file.
type segmentHeader struct {
	seq     uint64 // number of the file, ascending in the directory
	mark    uint64 // random; starts every record of the file, so that payloads cannot look like records
	node    string
	epoch   int64
	created time.Time
	// firstLSN is the first that the file may hold.
	firstLSN LSN
	// prevSeq and prevEnd name the segment before this one and its length on disk when this one was made; 0 if there is none.
	prevSeq uint64
	prevEnd int64
	// voids are LSNs of failed groups that may still stand in older segments: they were refused and must not be replayed.
	voids []lsnRange
}

// encode lays out the header:
//
//	 0 magic "MSWALSEG"     16 u64 seq         40 i64 created, Unix ns   64 u16 node length
//	 8 u32 version          24 u64 mark        48 u64 first LSN          66 u16 number of voids
//	12 u32 length           32 i64 epoch       56 u64 previous seq       68 u32 zero
//	72 i64 previous end, node, voids (first, last each u64), u32 CRC32C of all before
func (h segmentHeader) encode() []byte {
	le := binary.LittleEndian
	b := make([]byte, 0, segmentFixedLen+len(h.node)+16*len(h.voids)+12)
	b = append(b, segmentMagic...)
	b = le.AppendUint32(b, segmentVersion)
	b = le.AppendUint32(b, uint32(cap(b)))
	b = le.AppendUint64(b, h.seq)
	b = le.AppendUint64(b, h.mark)
	b = le.AppendUint64(b, uint64(h.epoch))
	b = le.AppendUint64(b, uint64(h.created.UnixNano()))
	b = le.AppendUint64(b, uint64(h.firstLSN))
	b = le.AppendUint64(b, h.prevSeq)
	b = le.AppendUint16(b, uint16(len(h.node)))
	b = le.AppendUint16(b, uint16(len(h.voids)))
	b = le.AppendUint32(b, 0)
	b = le.AppendUint64(b, uint64(h.prevEnd))
	b = append(b, h.node...)
	for _, v := range h.voids {
		b = le.AppendUint64(b, uint64(v.first))
		b = le.AppendUint64(b, uint64(v.last))
	}
	return le.AppendUint32(b, crc32.Checksum(b, castagnoli()))
}

var errBadHeader = errors.New("segment header is damaged")

// decodeSegmentHeader reads a header from the start of b and returns its length. A newer version is an error of its own, so that
// an older program never takes a newer log for a damaged one.
func decodeSegmentHeader(b []byte) (segmentHeader, int64, error) {
	le := binary.LittleEndian
	if len(b) < segmentFixedLen+12 || string(b[:8]) != segmentMagic {
		return segmentHeader{}, 0, errBadHeader
	}
	length := int(le.Uint32(b[12:]))
	if length < segmentFixedLen+12 || length > len(b) || crc32.Checksum(b[:length-4], castagnoli()) != le.Uint32(b[length-4:]) {
		return segmentHeader{}, 0, errBadHeader
	}
	if v := le.Uint32(b[8:]); v != segmentVersion {
		return segmentHeader{}, 0, fmt.Errorf("segment format version %d is not known here: %w", v, errors.ErrUnsupported)
	}
	nodeLen, voids := int(le.Uint16(b[64:])), int(le.Uint16(b[66:]))
	if segmentFixedLen+12+nodeLen+16*voids != length {
		return segmentHeader{}, 0, errBadHeader
	}
	h := segmentHeader{
		seq: le.Uint64(b[16:]), mark: le.Uint64(b[24:]), epoch: int64(le.Uint64(b[32:])),
		created: time.Unix(0, int64(le.Uint64(b[40:]))), firstLSN: LSN(le.Uint64(b[48:])),
		prevSeq: le.Uint64(b[56:]), prevEnd: int64(le.Uint64(b[72:])),
		node: string(b[80 : 80+nodeLen]),
	}
	for at := 80 + nodeLen; voids > 0; voids, at = voids-1, at+16 {
		h.voids = append(h.voids, lsnRange{LSN(le.Uint64(b[at:])), LSN(le.Uint64(b[at+8:]))})
	}
	return h, int64(length), nil
}

// segment is a file of records: one of the log proper or one copied aside. Fields below the line are guarded by Log.mu.
type segment struct {
	path      string
	header    segmentHeader
	headerLen int64    // 0 if the header is damaged; records are then found by the mark in the file's name
	aside     *asideID // set for a file in aside/

	size     int64 // bytes that count: durable while active, else the length of the file
	spans    map[Key]*span
	sealed   bool // nothing more is appended
	indexed  bool // spans are complete: written by this process, or replayed
	dirty    bool // may hold records of failed groups
	deleting bool
	pins     int // readers, or evidence that could not be copied away; not deleted while > 0
}

// durableEnd returns where the certain bytes of s end: nothing is certain of a file without records, not even its name. Callers hold
// Log.mu.
func (s *segment) durableEnd() int64 {
	if s.size <= s.headerLen {
		return 0
	}
	return s.size
}

// span is what one segment holds of one key.
type span struct {
	max   uint64 // greatest Seq
	marks []spanMark
}

// spanMark is the start of a run of records of a span; a run ends at seq. Runs tell the age of the oldest unreleased record.
type spanMark struct {
	seq    uint64
	at     time.Time // when the first record of the run was written
	offset int64     // where that record begins
}

// markInterval is how long a run lasts.
const markInterval = time.Second

// add notes a record of key.
func (s *segment) add(key Key, seq uint64, at time.Time, offset int64) (fresh bool) {
	sp := s.spans[key]
	if sp == nil {
		sp = &span{}
		s.spans[key] = sp
		fresh = true
	}
	sp.max = seq
	if n := len(sp.marks); n > 0 && at.Sub(sp.marks[n-1].at) < markInterval {
		sp.marks[n-1].seq = seq
	} else {
		sp.marks = append(sp.marks, spanMark{seq: seq, at: at, offset: offset})
	}
	return fresh
}

// release drops what upTo covers of key and reports whether the segment now holds nothing of it (and did before).
func (s *segment) release(key Key, upTo uint64) bool {
	sp := s.spans[key]
	if sp == nil {
		return false
	}
	if sp.max <= upTo {
		delete(s.spans, key)
		return true
	}
	n := 0
	for n < len(sp.marks) && sp.marks[n].seq <= upTo {
		n++
	}
	sp.marks = sp.marks[n:]
	return false
}

// newMark draws the mark of a segment.
func newMark() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // crypto/rand.Read never fails
	return binary.LittleEndian.Uint64(b[:])
}

// segmentName returns the file name: number and mark in hexadecimal, so that damage inside cannot lose either.
func segmentName(seq, mark uint64) string { return fmt.Sprintf("%016x.%016x%s", seq, mark, segmentExt) }

// parseSegmentName is the inverse of segmentName.
func parseSegmentName(name string) (seq, mark uint64, ok bool) {
	base, found := strings.CutSuffix(name, segmentExt)
	a, b, dot := strings.Cut(base, ".")
	if !found || !dot || len(a) != 16 || len(b) != 16 {
		return 0, 0, false
	}
	seq, err1 := strconv.ParseUint(a, 16, 64)
	mark, err2 := strconv.ParseUint(b, 16, 64)
	return seq, mark, err1 == nil && err2 == nil
}

// readSegment opens the segment file dir/name and reads its header. A damaged header is no error.
func readSegment(fsys FS, dir, name string, seq, mark uint64) (*segment, error) {
	p := path.Join(dir, name)
	f, err := fsys.Open(p)
	if err != nil {
		return nil, fmt.Errorf("open segment %s: %w", p, err)
	}
	s, err := loadSegment(f, p, seq, mark)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read segment %s: %w", p, err)
	}
	return s, nil
}

func loadSegment(f File, p string, seq, mark uint64) (*segment, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	s := &segment{path: p, size: size, sealed: true, spans: map[Key]*span{}, header: segmentHeader{seq: seq, mark: mark}}
	b := make([]byte, min(size, maxSegmentHeader))
	if n, err := f.ReadAt(b, 0); err != nil && (!errors.Is(err, io.EOF) || n < len(b)) && !isMediaError(err) {
		return nil, err
	}
	h, n, err := decodeSegmentHeader(b)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	if err == nil && h.seq == seq && h.mark == mark {
		s.header, s.headerLen = h, n
	}
	return s, nil
}
