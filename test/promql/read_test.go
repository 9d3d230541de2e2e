package promql_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	configutil "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/storage/remote"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/auth"
	"github.com/millstream/millstream/internal/promapi"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/testkit/promtest"
	"github.com/millstream/millstream/internal/wire/promwrite"
)

// serveRead serves remote read and returns its URL.
func serveRead(t testing.TB, reader promapi.Reader) string {
	t.Helper()
	edge := promapi.Edge{Who: func(*http.Request) (auth.Principal, error) {
		return auth.Principal{Orgs: []tenant.ID{promtest.Org}}, nil
	}}
	server := httptest.NewUnstartedServer(promapi.ReadHandler(edge, reader))
	server.Config.ErrorLog = nil
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// readClient is the client of a Prometheus that reads from here.
func readClient(t testing.TB, address string) remote.ReadClient {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	c, err := remote.NewReadClient("test", &remote.ClientConfig{
		URL: &configutil.URL{URL: u}, Timeout: model.Duration(time.Minute), ChunkedReadLimit: 64 << 20,
	})
	require.NoError(t, err)
	return c
}

// readSamples asks for samples as one message.
func readSamples(t testing.TB, address string, queries ...*prompb.Query) (*prompb.ReadResponse, string) {
	t.Helper()
	request := &prompb.ReadRequest{Queries: queries, AcceptedResponseTypes: []prompb.ReadRequest_ResponseType{prompb.ReadRequest_SAMPLES}}
	body, err := request.Marshal()
	require.NoError(t, err)
	res, err := http.Post(address, "application/x-protobuf", bytes.NewReader(snappy.Encode(nil, body)))
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	if res.StatusCode != http.StatusOK {
		return nil, res.Status + ": " + string(text)
	}
	require.Equal(t, "snappy", res.Header.Get("Content-Encoding"))
	plain, err := snappy.Decode(nil, text)
	require.NoError(t, err)
	out := &prompb.ReadResponse{}
	require.NoError(t, out.Unmarshal(plain))
	return out, ""
}

// flat writes a set as text, values by their bits.
func flat(t testing.TB, set storage.SeriesSet) []string {
	t.Helper()
	var out []string
	var it chunkenc.Iterator
	for set.Next() {
		s := set.At()
		it = s.Iterator(it)
		for typ := it.Next(); typ != chunkenc.ValNone; typ = it.Next() {
			line := s.Labels().String() + " " + strconv.FormatInt(it.AtT(), 10) + " "
			switch typ {
			case chunkenc.ValFloat:
				_, v := it.At()
				line += strconv.FormatUint(math.Float64bits(v), 16)
			default:
				_, h := it.AtFloatHistogram(nil)
				line += h.String()
			}
			out = append(out, line)
		}
		require.NoError(t, it.Err())
	}
	require.NoError(t, set.Err())
	return out
}

func query(t testing.TB, from, to int64, hints *storage.SelectHints, matchers ...*labels.Matcher) *prompb.Query {
	t.Helper()
	q, err := remote.ToQuery(from, to, matchers, hints)
	require.NoError(t, err)
	return q
}

func match(typ labels.MatchType, name, value string) *labels.Matcher {
	return labels.MustNewMatcher(typ, name, value)
}

// A remote read gives what the engine would see, by both response types: floats with their bits, histograms of both kinds, several
// queries in one request, matchers of all types.
func TestRemoteRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.send(t, []string{"__name__", "m", "i", "1"}, point{0, 1}, point{15, math.NaN()}, point{30, stale()}, point{60, math.Inf(1)})
	b.send(t, []string{"__name__", "m", "i", "2"}, point{0, 10}, point{30, 20})
	b.send(t, []string{"__name__", "n"}, point{30, 5})
	series := prompb.TimeSeries{Labels: []prompb.Label{{Name: "__name__", Value: "h"}}}
	for i, h := range tsdbutil.GenerateTestHistograms(5) {
		series.Histograms = append(series.Histograms, prompb.FromIntHistogram(int64(i)*15_000, h))
	}
	for i, h := range tsdbutil.GenerateTestFloatHistograms(5) {
		series.Histograms = append(series.Histograms, prompb.FromFloatHistogram(int64(100+i)*15_000, h))
	}
	body, err := (&prompb.WriteRequest{Timeseries: []prompb.TimeSeries{series}}).Marshal()
	require.NoError(t, err)
	_, err = b.Write(t.Context(), body, promwrite.V1)
	require.NoError(t, err)

	b.everywhere(t, func(t *testing.T) {
		address := serveRead(t, b.api)
		equal := match(labels.MatchEqual, "__name__", "m")
		hints := &storage.SelectHints{Start: 15_000, End: 30_000, Func: "rate"}
		for name, c := range map[string]struct {
			from, to int64
			hints    *storage.SelectHints
			matchers []*labels.Matcher
			samples  int
		}{
			"equal":     {0, 60_000, nil, []*labels.Matcher{equal}, 6},
			"cut":       {15_000, 30_000, nil, []*labels.Matcher{equal}, 3},
			"by hints":  {0, 60_000, hints, []*labels.Matcher{match(labels.MatchEqual, "i", "1")}, 2},
			"not equal": {0, 60_000, nil, []*labels.Matcher{match(labels.MatchNotEqual, "i", "1"), match(labels.MatchRegexp, "__name__", "m|n")}, 3},
			"regexp":    {0, 60_000, nil, []*labels.Matcher{match(labels.MatchNotRegexp, "i", "[13]"), equal}, 2},
			"native":    {0, 2_000_000, nil, []*labels.Matcher{match(labels.MatchEqual, "__name__", "h")}, 10},
			"nothing":   {0, 60_000, nil, []*labels.Matcher{match(labels.MatchEqual, "__name__", "none")}, 0},
		} {
			t.Run(name, func(t *testing.T) {
				q, err := b.Queryable().Querier(c.from, c.to)
				require.NoError(t, err)
				want := flat(t, q.Select(t.Context(), true, c.hints, c.matchers...))
				require.NoError(t, q.Close())
				require.Len(t, want, c.samples)

				asked := query(t, c.from, c.to, c.hints, c.matchers...)
				set, err := readClient(t, address).Read(t.Context(), asked, true)
				require.NoError(t, err)
				require.Equal(t, want, flat(t, set), "streamed")
				res, refused := readSamples(t, address, asked, asked)
				require.Empty(t, refused)
				require.Len(t, res.Results, 2)
				for _, r := range res.Results {
					require.Equal(t, want, flat(t, remote.FromQueryResult(true, r)), "samples")
				}
			})
		}
		two := []*prompb.Query{
			query(t, 0, 60_000, nil, match(labels.MatchEqual, "__name__", "m")), query(t, 0, 60_000, nil, match(labels.MatchEqual, "__name__", "n")),
		}
		set, err := readClient(t, address).ReadMultiple(t.Context(), two, true)
		require.NoError(t, err)
		require.Len(t, flat(t, set), 7)
	})
}

// A long series comes in many frames of about a mebibyte.
func TestRemoteReadCutsFrames(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	points := make([]point, 200_000)
	for i := range points {
		points[i] = point{float64(i), math.Sqrt(float64(i))}
	}
	b.send(t, []string{"__name__", "long"}, points...)
	frames, largest := 0, 0
	body, err := (&prompb.ReadRequest{Queries: []*prompb.Query{query(t, 0, 1e9, nil, match(labels.MatchEqual, "__name__", "long"))}}).Marshal()
	require.NoError(t, err)
	request := promapi.ReadRequest{Org: promtest.Org, Database: "public", Streamed: true, Body: body}
	err = b.api.Read(t.Context(), request, func(part []byte) error {
		frames, largest = frames+1, max(largest, len(part))
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, frames, 1)
	require.Less(t, largest, 1<<20+4096)
	set, err := readClient(t, serveRead(t, b.api)).Read(t.Context(),
		query(t, 0, 1e9, nil, match(labels.MatchEqual, "__name__", "long")), true)
	require.NoError(t, err)
	require.Len(t, flat(t, set), len(points))
}

// brokenReader fails after some frames.
type brokenReader struct {
	promapi.Reader
	after int
}

func (r brokenReader) Read(_ context.Context, _ promapi.ReadRequest, send func([]byte) error) error {
	for range r.after {
		if err := send([]byte{0}); err != nil {
			return err
		}
	}
	return errors.New("the disk is gone")
}

// An answer that cannot be finished is not taken for whole; a request that is wrong says why.
func TestRemoteReadFailures(t *testing.T) {
	t.Parallel()
	all := query(t, 0, 1, nil, match(labels.MatchEqual, "__name__", "m"))
	for after := range 2 {
		set, err := readClient(t, serveRead(t, brokenReader{after: after})).Read(t.Context(), all, true)
		if err == nil {
			for set.Next() {
			}
			err = set.Err()
		}
		require.Error(t, err, "after %d frames", after)
	}
	address := serveRead(t, newBench(t).api)
	bad := query(t, 0, 1, nil)
	bad.Matchers = []*prompb.LabelMatcher{{Type: prompb.LabelMatcher_RE, Name: "a", Value: "("}}
	_, refused := readSamples(t, address, bad)
	require.Contains(t, refused, `400 Bad Request: the matcher of label "a"`)
	bad.Matchers[0].Type = 7
	_, refused = readSamples(t, address, bad)
	require.Contains(t, refused, `400 Bad Request: the matcher of label "a" has the unknown type 7`)
	res, err := http.Post(address, "", bytes.NewReader([]byte("no snappy")))
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusBadRequest, res.StatusCode)
}
