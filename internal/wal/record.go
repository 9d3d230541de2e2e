package wal

import (
	"encoding/binary"
	"hash/crc32"
	"strconv"
)

// Key names the records of one dataset written under one writer epoch. Replay and Release go by it.
type Key struct {
	Dataset int64  // catalog id of the dataset
	Node    string // id of the node that wrote, 1 to 255 bytes
	Epoch   int64  // incarnation of the writer
}

// String returns dataset/node/epoch for logs and reports.
func (k Key) String() string {
	return strconv.FormatInt(k.Dataset, 10) + "/" + k.Node + "/" + strconv.FormatInt(k.Epoch, 10)
}

// Record is one entry of the log.
type Record struct {
	Key
	// Seq ascends strictly per key; holes are fine. A record that holds several rows carries the number of its last row, because
	// Release(key, n) covers records with Seq <= n.
	Seq uint64
	// Payload is opaque. Enqueue copies it; Replay lends it until the callback returns.
	Payload []byte
}

// LSN is a position in the order of the whole log, 1-based. 0 means none.
type LSN uint64

const (
	recordHeaderLen = 56
	maxNodeLen      = 255
	maxPayloadLen   = 1 << 30
	recordVersion   = 1
	maxHeaderLen    = recordHeaderLen + maxNodeLen
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// recordHeader is the decoded head of a record.
type recordHeader struct {
	key        Key
	seq        uint64
	lsn        LSN
	payloadLen int
	bodyCRC    uint32
}

// headLen is the length of the fixed part and the node id.
func (h recordHeader) headLen() int { return recordHeaderLen + len(h.key.Node) }

// size is the length of the whole record.
func (h recordHeader) size() int64 { return int64(h.headLen()) + int64(h.payloadLen) }

// recordSize returns the bytes that r takes in a segment.
func recordSize(r Record) int64 { return int64(recordHeaderLen + len(r.Node) + len(r.Payload)) }

// appendRecord appends r to dst. payloadCRC is the CRC32C of the payload alone, which callers compute outside their locks; the
// record's checksum continues it over the head.
//
//	 0 u64 mark of the segment        24 i64 dataset
//	 8 u32 CRC32C of bytes 12..head   32 i64 epoch
//	12 u32 CRC32C of payload ‖ 16..head  40 u64 seq
//	16 u32 payload length             48 u64 LSN
//	20 u16 node length                56 node, then payload
//	22 u16 record version
func appendRecord(dst []byte, mark uint64, lsn LSN, r Record, payloadCRC uint32) []byte {
	start := len(dst)
	le := binary.LittleEndian
	dst = le.AppendUint64(dst, mark)
	dst = le.AppendUint64(dst, 0) // checksums, set below
	dst = le.AppendUint32(dst, uint32(len(r.Payload)))
	dst = le.AppendUint16(dst, uint16(len(r.Node)))
	dst = le.AppendUint16(dst, recordVersion)
	dst = le.AppendUint64(dst, uint64(r.Dataset))
	dst = le.AppendUint64(dst, uint64(r.Epoch))
	dst = le.AppendUint64(dst, r.Seq)
	dst = le.AppendUint64(dst, uint64(lsn))
	dst = append(dst, r.Node...)
	sealRecord(dst[start:], payloadCRC)
	return append(dst, r.Payload...)
}

// sealRecord fills in the two checksums of a head.
func sealRecord(head []byte, payloadCRC uint32) {
	table := castagnoli()
	binary.LittleEndian.PutUint32(head[12:], crc32.Update(payloadCRC, table, head[16:]))
	binary.LittleEndian.PutUint32(head[8:], crc32.Checksum(head[12:], table))
}

// remark gives the record whose head is at the start of head another mark. The checksums do not cover the mark.
func remark(head []byte, mark uint64) { binary.LittleEndian.PutUint64(head, mark) }

// decodeHeader reads the head of a record of the segment with that mark from the start of b, which may be longer or shorter. It
// reports false when there is no valid head.
func decodeHeader(b []byte, mark uint64) (recordHeader, bool) {
	le := binary.LittleEndian
	if len(b) < recordHeaderLen || le.Uint64(b) != mark || le.Uint16(b[22:]) != recordVersion {
		return recordHeader{}, false
	}
	nodeLen := int(le.Uint16(b[20:]))
	payloadLen := le.Uint32(b[16:])
	if nodeLen > maxNodeLen || payloadLen > maxPayloadLen || len(b) < recordHeaderLen+nodeLen {
		return recordHeader{}, false
	}
	head := b[:recordHeaderLen+nodeLen]
	if crc32.Checksum(head[12:], castagnoli()) != le.Uint32(head[8:]) {
		return recordHeader{}, false
	}
	return recordHeader{
		key:        Key{Dataset: int64(le.Uint64(b[24:])), Epoch: int64(le.Uint64(b[32:])), Node: string(head[recordHeaderLen:])},
		seq:        le.Uint64(b[40:]),
		lsn:        LSN(le.Uint64(b[48:])),
		payloadLen: int(payloadLen),
		bodyCRC:    le.Uint32(b[12:]),
	}, true
}

// checkBody reports whether the whole record b, headed by h, is undamaged.
func checkBody(b []byte, h recordHeader) bool {
	n := h.headLen()
	crc := crc32.Checksum(b[n:], castagnoli())
	return crc32.Update(crc, castagnoli(), b[16:n]) == h.bodyCRC
}
