package objstore

import (
	"strings"

	"github.com/millstream/millstream/internal/fault"
)

// MaxKeyBytes is the longest key, S3's limit. MaxSegmentBytes is the longest part between slashes, a file system's limit.
const (
	MaxKeyBytes     = 1024
	MaxSegmentBytes = 255
)

// CheckKey returns a fault.Invalid error unless key is 1 to 1,024 bytes of segments joined by single slashes, each 1 to 255 bytes
// of ASCII letters, digits and !-_.*'():{}=,@+ and neither "." nor "..".
func CheckKey(key string) error {
	if key == "" || len(key) > MaxKeyBytes {
		return fault.New(fault.Invalid, "object key of %d bytes: 1 to %d are allowed", len(key), MaxKeyBytes)
	}
	for segment := range strings.SplitSeq(key, "/") {
		if segment == "" || segment == "." || segment == ".." || len(segment) > MaxSegmentBytes {
			return fault.New(fault.Invalid, "object key %q: segment %q is not allowed", key, segment)
		}
		for i := range len(segment) {
			if !keyByte(segment[i]) {
				return fault.New(fault.Invalid, "object key %q: byte %q is not allowed", key, segment[i])
			}
		}
	}
	return nil
}

// CheckPrefix returns a fault.Invalid error unless prefix is "" or a key followed by a slash.
func CheckPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	key, ok := strings.CutSuffix(prefix, "/")
	if !ok {
		return fault.New(fault.Invalid, "object prefix %q does not end in a slash", prefix)
	}
	return CheckKey(key)
}

func keyByte(c byte) bool {
	switch {
	case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		return true
	}
	return strings.IndexByte("!-_.*'():{}=,@+", c) >= 0
}

// CheckRange returns a fault.Invalid error unless off ≥ 0 and length > 0.
func CheckRange(off, length int64) error {
	if off < 0 || length <= 0 {
		return fault.New(fault.Invalid, "range of %d bytes at %d: offsets are not negative and lengths positive", length, off)
	}
	return nil
}

// ErrPastEnd is the error for a range that starts at or past the end of an object.
func ErrPastEnd(key string, off int64) error {
	return fault.New(fault.Invalid, "object %q ends before offset %d", key, off)
}
