package ingress_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/ingress"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wire/otlp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pack compresses data in every way that is read.
func pack(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	through := func(open func(io.Writer) io.WriteCloser) []byte {
		var b bytes.Buffer
		w := open(&b)
		_, err := w.Write(data)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return b.Bytes()
	}
	return map[string][]byte{
		"":         data,
		"identity": data,
		"gzip":     through(func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }),
		"deflate":  through(func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }),
		"Deflate": through(func(w io.Writer) io.WriteCloser {
			f, err := flate.NewWriter(w, 5)
			require.NoError(t, err)
			return f
		}),
		"zstd": through(func(w io.Writer) io.WriteCloser {
			z, err := zstd.NewWriter(w)
			require.NoError(t, err)
			return z
		}),
		"snappy": snappy.Encode(nil, data),
		"SNAPPY": through(func(w io.Writer) io.WriteCloser { return s2.NewWriter(w, s2.WriterSnappyCompat()) }),
	}
}

func inflate(body []byte, encoding string, limit int64) ([]byte, error) {
	r, err := ingress.Inflate(bytes.NewReader(body), encoding, limit, 1<<20)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	return data, errors.Join(err, r.Close())
}

func TestInflate(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("millstream "), 5000)
	for encoding, body := range pack(t, data) {
		got, err := inflate(body, encoding, int64(len(data)))
		require.NoError(t, err, encoding)
		require.Equal(t, data, got, encoding)

		_, err = inflate(body, encoding, int64(len(data)-1))
		require.True(t, fault.Is(err, fault.TooLarge), "%s: %v", encoding, err)

		if encoding != "" && encoding != "identity" {
			_, err = inflate(body[:len(body)-5], encoding, int64(len(data)))
			require.True(t, fault.Is(err, fault.Invalid), "%s: %v", encoding, err)
			_, err = inflate([]byte("nonsense that is no archive"), encoding, 1000)
			require.True(t, fault.Is(err, fault.Invalid) || fault.Is(err, fault.TooLarge), "%s: %v", encoding, err)
		}
	}
	_, err := inflate(data, "br", 0)
	require.True(t, fault.Is(err, fault.Unsupported))
}

// TestInflateBombs is case I08 of the public reports: what a header claims, or what a small body becomes, is never held.
func TestInflateBombs(t *testing.T) {
	t.Parallel()
	_, err := inflate([]byte("\xff\xff\xff\xff\x0fx"), "snappy", 64<<20)
	require.True(t, fault.Is(err, fault.TooLarge) || fault.Is(err, fault.Invalid), "%v", err)
	zeros := make([]byte, 8<<20)
	for _, encoding := range []string{"gzip", "zstd", "deflate"} {
		body := pack(t, zeros)[encoding]
		require.Less(t, len(body), 64<<10)
		_, err := inflate(body, encoding, 1<<20)
		require.True(t, fault.Is(err, fault.TooLarge), encoding)
	}
}

// TestReadAll reads bodies around the size of the pieces that they are read in, one after the other in the same memory.
func TestReadAll(t *testing.T) {
	t.Parallel()
	f := ingress.NewFront(&writer{}, ingress.Limits{MaxBodyBytes: 1 << 20}, clock.System{}, nil)
	for _, size := range []int{0, 1, 256<<10 - 1, 256 << 10, 256<<10 + 1, 1 << 20} {
		data := bytes.Repeat([]byte{byte(size), 1, 2}, size/3+1)[:size]
		got, err := f.ReadAll(bytes.NewReader(data), "")
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, got), size)
		require.Equal(t, len(got), cap(got), "no memory is held beyond the body")
		_, err = f.ReadAll(io.MultiReader(bytes.NewReader(data), iotest.ErrReader(io.ErrClosedPipe)), "")
		require.True(t, fault.Is(err, fault.Invalid), "%v", err)
	}
	_, err := f.ReadAll(bytes.NewReader(make([]byte, 1<<20+1)), "")
	require.True(t, fault.Is(err, fault.TooLarge))
	_, err = f.ReadAll(io.MultiReader(strings.NewReader("x"), iotest.ErrReader(io.ErrUnexpectedEOF)), "gzip")
	require.True(t, fault.Is(err, fault.Invalid), "%v", err)
	_, err = f.ReadAll(io.MultiReader(strings.NewReader("x"), iotest.ErrReader(io.ErrUnexpectedEOF)), "")
	require.True(t, fault.Is(err, fault.Invalid), "a body that was cut short is no body: %v", err)
}

// writer counts rows and fails from the nth batch on.
type writer struct {
	batches, rows int
	failFrom      int
	err           error
}

func (w *writer) Write(_ context.Context, batches ...*signal.Batch) error {
	for _, b := range batches {
		w.batches++
		if w.failFrom > 0 && w.batches >= w.failFrom {
			return w.err
		}
		w.rows += b.Rows()
	}
	return nil
}

func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"n\":%d}\n", i)
	}
	return b.String()
}

func target() ingress.Target { return ingress.Target{Org: "t1", Signal: signal.Logs, Stream: "s"} }

func TestJSONIsWrittenInChunks(t *testing.T) {
	t.Parallel()
	w := &writer{}
	f := ingress.NewFront(w, ingress.Limits{}, clock.System{}, nil)
	result, err := f.JSON(t.Context(), target(), strings.NewReader(lines(50_000)), "")
	require.NoError(t, err)
	require.Equal(t, 50_000, result.Accepted)
	require.Equal(t, 50_000, w.rows)
	require.Equal(t, 3, w.batches)
}

// TestRefusalTellsWhatIsStored checks decision E5: the first refusal ends the request and says how much from its start is stored.
func TestRefusalTellsWhatIsStored(t *testing.T) {
	t.Parallel()
	for failFrom := 1; failFrom <= 3; failFrom++ {
		w := &writer{failFrom: failFrom, err: fault.New(fault.Unavailable, "the disk is full").After(7 * time.Second)}
		f := ingress.NewFront(w, ingress.Limits{}, clock.System{}, nil)
		result, err := f.JSON(t.Context(), target(), strings.NewReader("broken\n"+lines(50_000)), "")
		require.True(t, fault.Is(err, fault.Unavailable))
		require.Equal(t, 7*time.Second, fault.RetryAfter(err))
		require.Equal(t, w.rows, result.Accepted)
		require.Equal(t, (failFrom-1)*20_000, w.rows)
		var partial *ingress.PartialError
		require.Equal(t, failFrom > 1, errors.As(err, &partial))
		if partial != nil {
			require.Equal(t, w.rows+1, partial.Settled, "the broken line is settled too")
			require.Contains(t, fault.Message(err), fmt.Sprintf("%d rows are stored", w.rows))
			require.Contains(t, fault.Message(err), "the disk is full")
		}
	}
}

// limited returns a Front with a rate of 10 kB/s and a burst of 20 kB for each org, and its clock and metrics.
func limited(w ingress.Writer) (*ingress.Front, *clock.Fake, *prometheus.Registry) {
	c, reg := clock.NewFake(time.Unix(1_741_600_800, 0)), prometheus.NewRegistry()
	l := limits.Default()
	l.IngestionRate, l.IngestionBurst = 10_000, 20_000
	return ingress.NewFront(w, ingress.Limits{For: limits.Static(l)}, c, reg), c, reg
}

// padded are n JSON lines of 100 bytes each.
func padded(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"n\":%-93d}\n", i)
	}
	return b.String()
}

// TestRateOfBytes sends each protocol's requests over the rate: nothing is decoded then, and they are refused whole.
func TestRateOfBytes(t *testing.T) {
	t.Parallel()
	bulk := strings.Repeat("{\"create\":{\"_index\":\"i\"}}\n{\"n\":1}\n", 300)
	for name, send := range map[string]func(f *ingress.Front, org tenant.ID) (int, error){
		"json": func(f *ingress.Front, org tenant.ID) (int, error) {
			res, err := f.JSON(t.Context(), ingress.Target{Org: org, Signal: signal.Logs, Stream: "s"}, strings.NewReader(padded(120)), "")
			return res.Accepted, err
		},
		"bulk": func(f *ingress.Front, org tenant.ID) (int, error) {
			res, err := f.Bulk(t.Context(), ingress.Target{Org: org}, strings.NewReader(bulk), "")
			return res.Result.Accepted, err
		},
		"loki": func(f *ingress.Front, org tenant.ID) (int, error) {
			body := `{"streams":[{"stream":{"a":"b"},"values":[["1741600800000000000","` + strings.Repeat("x", 12_000) + `"]]}]}`
			res, err := f.Loki(t.Context(), ingress.Target{Org: org}, "application/json", "", strings.NewReader(body))
			return res.Accepted, err
		},
		"otlp": func(f *ingress.Front, org tenant.ID) (int, error) {
			body := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"` + strings.Repeat("x", 12_000) + `"}}]}]}]}`
			res, err := f.OTLP(t.Context(), ingress.Target{Org: org, Signal: signal.Logs}, []byte(body), otlp.JSON)
			return res.Accepted, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &writer{}
			f, c, reg := limited(w)
			rows, err := send(f, "a")
			require.NoError(t, err)
			require.Equal(t, w.rows, rows)
			_, err = send(f, "a")
			require.True(t, fault.Is(err, fault.Limited), "%v", err)
			require.Contains(t, fault.Message(err), "ingestion rate limit exceeded for org a: limit 10000 bytes/s")
			require.Equal(t, w.rows, rows, "nothing of a refused request is written")
			_, err = send(f, "b")
			require.NoError(t, err, "orgs share nothing")
			c.Advance(fault.RetryAfter(err) + 2*time.Second)
			_, err = send(f, "a")
			require.NoError(t, err)

			count, err := testutil.GatherAndCount(reg, "millstream_discarded_bytes_total")
			require.NoError(t, err)
			require.Equal(t, 1, count)
		})
	}
}

func TestAboveTheBurst(t *testing.T) {
	t.Parallel()
	f, _, _ := limited(&writer{})
	_, err := f.OTLP(t.Context(), ingress.Target{Org: "a", Signal: signal.Logs}, []byte(padded(201)), otlp.JSON)
	require.True(t, fault.Is(err, fault.TooLarge))
	require.Contains(t, fault.Message(err), "limits.ingestion_burst_size_mb")
	_, err = f.Bulk(t.Context(), ingress.Target{Org: "a"}, strings.NewReader(padded(201)), "")
	require.True(t, fault.Is(err, fault.TooLarge))
}

// TestStreamOverTheRate sends more JSON lines than the burst: what the rate let pass is stored and told, no line is stored in part.
func TestStreamOverTheRate(t *testing.T) {
	t.Parallel()
	w := &writer{}
	f, c, _ := limited(w)
	result, err := f.JSON(t.Context(), target(), strings.NewReader(padded(450)), "")
	require.True(t, fault.Is(err, fault.Limited), "%v", err)
	require.Equal(t, 2*time.Second, fault.RetryAfter(err))
	require.InDelta(t, 200, w.rows, 1)
	require.Equal(t, w.rows, result.Accepted)
	require.Equal(t, w.rows, result.Settled)
	require.Contains(t, fault.Message(err), fmt.Sprintf("%d rows are stored", w.rows))

	c.Advance(2 * time.Second)
	rest := padded(450)[200*100:]
	_, err = f.JSON(t.Context(), target(), strings.NewReader(rest[:100*100]), "")
	require.NoError(t, err)
}

// TestArraysPassWhole sends bodies of JSON that must be whole: above the burst they can never pass, however much of them the rate would let
// through in pieces; above what is left they are refused whole, and nothing is stored.
func TestArraysPassWhole(t *testing.T) {
	t.Parallel()
	array := func(n int) string { return "[" + strings.ReplaceAll(strings.TrimSpace(padded(n)), "\n", ",") + "]" }
	for name, make := range map[string]func(n int) string{
		"array":                     array,
		"array after space":         func(n int) string { return " \r\n\t" + array(n) },
		"array after a mark":        func(n int) string { return "\xef\xbb\xbf" + array(n) },
		"objects spread over lines": func(n int) string { return strings.Repeat("{\n\"n\":"+strings.Repeat(" ", 89)+"1\n}\n", n) },
	} {
		w := &writer{}
		f, c, _ := limited(w)
		send := func(n int) (int, error) {
			res, err := f.JSON(t.Context(), target(), strings.NewReader(make(n)), "")
			return res.Accepted, err
		}
		_, err := send(450)
		require.True(t, fault.Is(err, fault.TooLarge), "%s: %v", name, err)
		require.Contains(t, fault.Message(err), "limits.ingestion_burst_size_mb", name)
		rows, err := send(150)
		require.NoError(t, err, name)
		require.Equal(t, 150, rows, name)
		_, err = send(150)
		require.True(t, fault.Is(err, fault.Limited), "%s: %v", name, err)
		require.Equal(t, 150, w.rows, "%s: nothing of a refused body is stored", name)
		c.Advance(fault.RetryAfter(err))
		_, err = send(150)
		require.NoError(t, err, "%s: it passes after the wait that was told", name)
	}
	l := limits.Default()
	l.IngestionRate = 1 << 20
	f := ingress.NewFront(&writer{}, ingress.Limits{For: limits.Static(l), MaxBodyBytes: 10_000}, clock.System{}, nil)
	_, err := f.JSON(t.Context(), target(), strings.NewReader(array(150)), "")
	require.True(t, fault.Is(err, fault.TooLarge))
	require.Contains(t, fault.Message(err), "intake.max_body_size")
}

func TestTargetNames(t *testing.T) {
	t.Parallel()
	f := ingress.NewFront(&writer{}, ingress.Limits{}, clock.System{}, nil)
	for _, name := range []string{"", "..", "a/b", "a b", "ä", strings.Repeat("x", 256)} {
		to := target()
		to.Stream = name
		_, err := f.JSON(t.Context(), to, strings.NewReader("{}"), "")
		require.True(t, fault.Is(err, fault.Invalid), name)
		to = target()
		to.Database = name
		_, err = f.JSON(t.Context(), to, strings.NewReader("{}"), "")
		require.Equal(t, name != "", fault.Is(err, fault.Invalid), name)
	}
}

// TestBrokenBodiesAreCharged sends a body that ends in an error of its reader: the chunk that came before is stored, and all of it is
// charged to the rate.
func TestBrokenBodiesAreCharged(t *testing.T) {
	t.Parallel()
	body := lines(25_000)
	l := limits.Default()
	l.IngestionRate, l.IngestionBurst = int64(len(body)), int64(len(body))+100
	w := &writer{}
	f := ingress.NewFront(w, ingress.Limits{For: limits.Static(l)}, clock.NewFake(time.Unix(1_741_600_800, 0)), nil)
	send := func() error {
		_, err := f.JSON(t.Context(), target(), io.MultiReader(strings.NewReader(body), iotest.ErrReader(errors.New("cut off"))), "")
		return err
	}
	require.False(t, fault.Is(send(), fault.Limited))
	stored := w.rows
	require.NotZero(t, stored)
	require.True(t, fault.Is(send(), fault.Limited))
	require.Equal(t, stored, w.rows)
}
