package slot

import "strings"

// Count is the number of slots. Slots are 0 to Count-1.
const Count = 16384

// DefaultDatabase is the database whose streams are placed without naming it.
const DefaultDatabase = "public"

// Of returns the slot of a stream's rows. See Key for what counts.
func Of(org, database, signal, stream string) uint16 {
	return crc16(Key(org, database, signal, stream)) % Count
}

// Key returns the text whose checksum places a stream: org/signal/stream, and org/signal/database.stream outside the database
// public. When that last part holds a tag, a non-empty text between its first { and the next }, the tag replaces the part, so that
// streams of one tag, org and signal share a slot; tags of different orgs or signals never meet. Signal is logs, metrics or traces;
// for metrics the stream is the metric's name. Names must not be empty and must not hold NUL, which the checksum does not see at
// the beginning of a key.
func Key(org, database, signal, stream string) string {
	name := stream
	if database != DefaultDatabase {
		name = database + "." + stream
	}
	if tag, ok := Tag(name); ok {
		name = tag
	}
	return org + "/" + signal + "/" + name
}

// OfKey returns the slot of a raw key with the rule of CLUSTER KEYSLOT: the key's tag is hashed when it has one, else all of it.
func OfKey(key string) uint16 {
	if tag, ok := Tag(key); ok {
		key = tag
	}
	return crc16(key) % Count
}

// Tag returns the text between the first { of s and the first } right of it. It reports false when either is missing or nothing
// lies between them; later pairs do not count.
func Tag(s string) (tag string, ok bool) {
	_, rest, found := strings.Cut(s, "{")
	if !found {
		return "", false
	}
	tag, _, found = strings.Cut(rest, "}")
	return tag, found && tag != ""
}
