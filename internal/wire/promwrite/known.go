package promwrite

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"github.com/millstream/millstream/internal/wire"
)

// Known remembers label sets by the bytes in which senders of version 1.0 repeat them with every request, so that a series is read, checked
// and put into its stored form once and not with every sample. Its memory is bounded; when more series come in turn than it has room for,
// it keeps those that it has instead of forgetting each before it comes again. It is safe for concurrent use; nil remembers nothing.
type Known struct {
	half         int64 // bytes of a generation
	hits, misses atomic.Int64
	mu           struct {
		sync.RWMutex
		young, old map[string]*knownSet // two generations, so that forgetting costs no search
		bytes      int64                // of young
		useful     int                  // of the sets in old, how many were asked for since they are there
		frozen     int                  // sets that are not taken up before the next is
	}
}

// knownSet is a label set that passed every check but those of an org's limits. It is never written.
type knownSet struct {
	name, json                []byte // as stored
	labels                    int    // how many, without the name
	longestName, longestValue int    // of them, in bytes
}

// passes reports whether wire.Options.CheckLabels has nothing against the set.
func (s *knownSet) passes(o *wire.Options) bool {
	return (o.MaxLabels <= 0 || s.labels <= o.MaxLabels) && (o.MaxLabelName <= 0 || s.longestName <= o.MaxLabelName) &&
		(o.MaxLabelValue <= 0 || s.longestValue <= o.MaxLabelValue)
}

// DefaultKnownBytes is the room for some hundred thousand label sets.
const DefaultKnownBytes = 64 << 20

// knownSetBytes is what a set takes beside its texts.
const knownSetBytes = 250

// NewKnown returns a Known of so many bytes.
func NewKnown(bytes int64) *Known {
	k := &Known{half: bytes / 2}
	k.mu.young = make(map[string]*knownSet)
	return k
}

// get returns the set of encoded labels, nil when it is not known.
func (k *Known) get(encoded []byte) *knownSet {
	if k == nil {
		return nil
	}
	k.mu.RLock()
	set := k.mu.young[string(encoded)]
	old := false
	if set == nil {
		set = k.mu.old[string(encoded)]
		old = set != nil && k.mu.frozen == 0
	}
	k.mu.RUnlock()
	if set != nil {
		k.hits.Add(1)
	} else {
		k.misses.Add(1)
	}
	if old {
		k.put(encoded, set, true)
	}
	return set
}

// put remembers a set; again says that it is in the old generation. encoded is copied.
func (k *Known) put(encoded []byte, set *knownSet, again bool) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mu.frozen > 0 && !again {
		k.mu.frozen--
		return
	}
	if _, ok := k.mu.young[string(encoded)]; ok {
		return
	}
	if k.mu.bytes >= k.half {
		// Hardly anything of the old generation came again before the young one was full: the same would happen to that one.
		if before := len(k.mu.old); k.mu.useful < before/4 {
			k.mu.frozen = 20 * (before + len(k.mu.young))
			k.mu.useful = before // the next time it is replaced
			return
		}
		k.mu.old, k.mu.young = k.mu.young, make(map[string]*knownSet, len(k.mu.young))
		k.mu.bytes, k.mu.useful = 0, 0
	}
	if again {
		k.mu.useful++
	}
	k.mu.young[string(encoded)] = set
	k.mu.bytes += knownSetBytes + int64(len(encoded)+len(set.name)+len(set.json))
}

// labelsEnd returns the length of the labels that stand together at the front of a series of version 1.0, where all senders put them.
func labelsEnd(message []byte) int {
	const labelTag = v1SeriesLabel<<3 | 2
	end := 0
	for end < len(message) && message[end] == labelTag {
		size, n := binary.Uvarint(message[end+1:])
		if n <= 0 || size > uint64(len(message)-end-1-n) {
			break
		}
		end += 1 + n + int(size)
	}
	return end
}
