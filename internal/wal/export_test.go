package wal

import (
	"encoding/binary"
	"hash/crc32"
)

// HeaderOfVersion returns an intact segment header that claims a format version.
func HeaderOfVersion(version uint32, seq, mark uint64) []byte {
	b := segmentHeader{seq: seq, mark: mark, node: "n1", epoch: 1}.encode()
	binary.LittleEndian.PutUint32(b[8:], version)
	n := len(b) - 4
	binary.LittleEndian.PutUint32(b[n:], crc32.Checksum(b[:n], castagnoli()))
	return b
}
