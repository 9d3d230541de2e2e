package ingress_test

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/ingress"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

// stuck is a writer whose writes take until they are let go.
type stuck struct {
	began chan struct{}
	end   chan struct{}
}

func (s stuck) Write(context.Context, ...*signal.Batch) error {
	s.began <- struct{}{}
	<-s.end
	return nil
}

// TestOneOrgCannotHoldAllBodies lets an org hold its share by requests that do not end. It alone is refused, also when a small body
// inflates to a large one.
func TestOneOrgCannotHoldAllBodies(t *testing.T) {
	t.Parallel()
	w := stuck{make(chan struct{}), make(chan struct{})}
	reg := prometheus.NewRegistry()
	f := ingress.NewFront(w, ingress.Limits{MaxBodyBytes: 4 << 20, InFlightBytes: 8 << 20}, clock.System{}, reg)
	const push = `{"streams":[{"stream":{"a":"b"},"values":[["1741600800000000000","x"]]}]}`
	send := func(org tenant.ID, size int) error {
		body := strings.NewReader(push + strings.Repeat(" ", size-len(push)))
		_, err := f.Loki(t.Context(), ingress.Target{Org: org}, "application/json", "", body)
		return err
	}
	done := make(chan error, 10)
	hold := func(org tenant.ID, size int) {
		go func() { done <- send(org, size) }()
		<-w.began
	}
	hold("flood", 3<<20)
	hold("flood", 2<<20)
	err := send("flood", 2<<20)
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	require.Contains(t, fault.Message(err), "requests of org flood that are being read hold")
	require.Contains(t, fault.Message(err), "intake.inflight_memory_max is 8388608")
	require.Positive(t, fault.RetryAfter(err))

	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = io.WriteString(z, push+strings.Repeat(" ", 3<<20))
	require.NoError(t, z.Close())
	_, err = f.Loki(t.Context(), ingress.Target{Org: "flood"}, "application/json", "gzip", &bomb)
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)

	hold("quiet", 1<<20)
	require.Contains(t, gathered(t, reg), `millstream_discarded_bytes_total{org="flood",reason="inflight_bytes"}`)
	close(w.end)
	for range 3 {
		require.NoError(t, <-done)
	}
	require.Zero(t, f.InFlight("flood"), "everything was given back")
	go func() { done <- send("flood", 4<<20) }()
	<-w.began
	require.NoError(t, <-done)
}

// gathered is the registry's text, with the labels of counters in order.
func gathered(t *testing.T, reg *prometheus.Registry) string {
	t.Helper()
	families, err := reg.Gather()
	require.NoError(t, err)
	var b strings.Builder
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+`="`+l.GetValue()+`"`)
			}
			b.WriteString(f.GetName() + "{" + strings.Join(labels, ",") + "} " + fmtFloat(m.GetCounter().GetValue()) + "\n")
		}
	}
	return b.String()
}

func fmtFloat(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
