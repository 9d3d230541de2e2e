package chaos_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

// damage is done to the log of a killed program. What it may cost: requests whose only durable copy it destroys, nothing more.
type damage struct {
	name string
	// harm changes the log's folder; segments are its files in order.
	harm func(t *testing.T, segments []string)
	// costs is the number of acknowledged requests that are lost: none, the last one, or at most one anywhere.
	costs costs
	// told is the counter that must have gone up.
	told string
}

type costs int

const (
	nothing costs = iota
	lastRequest
	oneRequest
)

const (
	tornCounter    = "millstream_wal_torn_total"
	damagedCounter = "millstream_wal_quarantined_records_total"
)

// damages are cases W01 and W04. Bytes that stand behind the last record cost nothing.
func damages() []damage {
	return []damage{
		{"random bytes behind the tail", appendTo(func([]byte) []byte { return random(7) }), nothing, tornCounter},
		{"a flipped byte in an old segment", flip(1, func(size int64) int64 { return size / 2 }), oneRequest, damagedCounter},
		cut(40),
		{"an empty segment after the last", emptySegment, nothing, ""},
		{"half a record behind the tail", appendTo(func(log []byte) []byte { return log[len(log)-300 : len(log)-100] }), nothing, ""},
		{"zeros behind the tail", appendTo(func([]byte) []byte { return make([]byte, 4096) }), nothing, tornCounter},
		{"a flipped byte in the head of an old segment", flip(1, func(int64) int64 { return 41 }), nothing, ""},
		{"a flipped mark in the head of an old segment", flip(1, func(int64) int64 { return 25 }), nothing, ""},
	}
}

// cut takes up to 40 bytes off the tail, which ends inside the last record. That one was acknowledged, since a process that was
// killed leaves nothing half written, and is the one that is lost.
func cut(n int64) damage {
	return damage{fmt.Sprintf("%d bytes cut off the tail", n), func(t *testing.T, segments []string) {
		t.Helper()
		last := lastWithRecords(t, segments)
		info, err := os.Stat(last)
		require.NoError(t, err)
		require.NoError(t, os.Truncate(last, info.Size()-n))
	}, lastRequest, tornCounter}
}

func TestDamagedLog(t *testing.T) {
	t.Parallel()
	damageAll(t, damages()[:4]) // make chaos does all of them
}

// damageAll does one damage after the other to the log of one server, with new rows before each.
func damageAll(t *testing.T, all []damage) {
	t.Helper()
	// Nothing is flushed but by an orderly stop, so that the rows of a round have no copy but the log.
	s := mstest.Start(t, mstest.Config{Env: map[string]string{
		"MS_INTAKE_FLUSH_INTERVAL_SECS": "3600", "MS_WAL_SEGMENT_SIZE": "1MiB",
	}})
	c := newCampaign(t, s, 0)
	for i, d := range all {
		c.turn(i)
		c.fillSegments(3)
		s.Kill()
		segments := segments(t, s)
		require.GreaterOrEqual(t, len(segments), 3)
		d.harm(t, segments)
		require.NoError(t, s.Start(t.Context()), d.name)
		c.assess(d)

		// What was wrong is set right: the log can be emptied, and the next start finds nothing to tell.
		require.NoError(t, s.Restart(t.Context()), d.name)
		require.Less(t, len(segmentFiles(t, s)), 3, "%s: the log is not emptied", d.name)
		s.Kill()
		require.NoError(t, s.Start(t.Context()), d.name)
		require.Zero(t, counter(t, s, tornCounter)+counter(t, s, damagedCounter), d.name)
		c.verifyAll()
	}
}

// fillSegments writes rows one request after the other until the log has so many more segments.
func (c *campaign) fillSegments(n int) {
	c.Helper()
	l := c.lanes()[0]
	before := len(segmentFiles(c.T, c.server))
	for len(segmentFiles(c.T, c.server)) < before+n {
		s := l.take(500)
		require.NoError(c, l.send(c.Context(), c.wire(l), s))
		l.ack(s)
	}
}

// assess compares what is lost with what may be lost.
func (c *campaign) assess(d damage) {
	c.Helper()
	l := c.lanes()[0]
	stored, err := c.numbers(l, 0)
	require.NoError(c, err, d.name)
	lost := l.lost(stored)
	_, acked := l.totals()
	switch d.costs {
	case nothing:
		require.Empty(c, lost, d.name)
	case lastRequest:
		require.Len(c, lost, 1, d.name)
		require.Equal(c, acked, lost[0].last, d.name)
	case oneRequest:
		require.LessOrEqual(c, len(lost), 1, d.name)
	}
	for _, s := range lost {
		require.Len(c, s.missing(stored), int(s.rows()), "%s: half a request is there", d.name)
	}
	if d.told != "" {
		require.Positive(c, counter(c.T, c.server, d.told), "%s is not counted", d.name)
	}
	require.NoError(c, l.settle(stored, lost...), d.name)
}

func appendTo(bytes func(log []byte) []byte) func(*testing.T, []string) {
	return func(t *testing.T, segments []string) {
		t.Helper()
		last := lastWithRecords(t, segments)
		log, err := os.ReadFile(last)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(last, append(log, bytes(log)...), 0o600))
	}
}

func flip(segment int, at func(size int64) int64) func(*testing.T, []string) {
	return func(t *testing.T, segments []string) {
		t.Helper()
		log, err := os.ReadFile(segments[segment])
		require.NoError(t, err)
		log[at(int64(len(log)))] ^= 0x10
		require.NoError(t, os.WriteFile(segments[segment], log, 0o600))
	}
}

// emptySegment is what a power cut leaves of a segment that was just made.
func emptySegment(t *testing.T, segments []string) {
	t.Helper()
	dir, name := filepath.Split(segments[len(segments)-1])
	var number uint64
	_, err := fmt.Sscanf(name, "%x.", &number)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%016x.%x.wal", number+1, random(8))), nil, 0o600))
}

// lastWithRecords returns the last segment that is more than its head.
func lastWithRecords(t *testing.T, segments []string) string {
	t.Helper()
	for _, path := range slices.Backward(segments) {
		info, err := os.Stat(path)
		require.NoError(t, err)
		if info.Size() > 1000 {
			return path
		}
	}
	require.Fail(t, "no segment holds records")
	return ""
}

// segments returns the log's files in order.
func segments(t *testing.T, s *mstest.Server) []string {
	t.Helper()
	files := segmentFiles(t, s)
	slices.Sort(files)
	return files
}

func segmentFiles(t *testing.T, s *mstest.Server) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.DataDir, "wal", "*.wal"))
	require.NoError(t, err)
	return files
}

// counter returns the value of a metric without labels, 0 if there is none.
func counter(t *testing.T, s *mstest.Server, name string) float64 {
	t.Helper()
	res := s.Client("").Get(t, "/metrics")
	require.Equal(t, http.StatusOK, res.Status)
	for line := range strings.Lines(string(res.Body)) {
		var value float64
		if n, err := fmt.Sscanf(line, name+" %g", &value); n == 1 && err == nil {
			return value
		}
	}
	return 0
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}
