//go:build peers

package prometheus_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Prometheus without samples of its own that reads them from Millstream answers as one that has them: flushed, and fresh again after a
// kill, which leaves them to the log.
func TestPrometheusReadsBack(t *testing.T) {
	t.Parallel()
	peer := startReference(t)
	product := startProduct(t, "MS_INTAKE_FLUSH_INTERVAL_SECS", "3600")
	s := newShop()
	s.fill(t, product.HTTP, peer.base)
	reader := newReference(t, fmt.Sprintf("remote_read: [{url: %q, read_recent: true}]\n", product.HTTP+"/prometheus/api/v1/read"))
	reader.start(t.Context(), t)
	all := templates(t)
	product.Kill()
	require.NoError(t, product.Start(t.Context()))
	t.Run("fresh", func(t *testing.T) { s.compare(t, reader.base, peer.base, all) })
	require.NoError(t, product.Restart(t.Context()))
	t.Run("flushed", func(t *testing.T) { s.compare(t, reader.base, peer.base, all) })
}
