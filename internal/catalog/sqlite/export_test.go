package sqlite

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// WriterPragma returns a setting of the connection that writes.
func WriterPragma(t *testing.T, c *Catalog, name string) (value string) {
	t.Helper()
	require.NoError(t, c.writer.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&value))
	return value
}
