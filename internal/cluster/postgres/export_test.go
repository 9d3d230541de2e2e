package postgres

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/cluster/internal/rules"
)

// WriteWithin returns how old what was read may be when it is written.
func (s *Store) WriteWithin() time.Duration { return s.timing.WriteWithin() }

// WriteAfter reads, lets something happen, and writes a new epoch by what it has read. It reports whether the write counted.
func (s *Store) WriteAfter(t *testing.T, happen func()) (won bool) {
	t.Helper()
	seen, err := s.look(t.Context())
	require.NoError(t, err)
	next, write := rules.Next(seen.record, seen.rows, seen.now, s.timing, seen.record.Epoch+1)
	require.True(t, write)
	happen()
	won, err = s.write(t.Context(), seen, next)
	require.NoError(t, err)
	return won
}
