package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/prompb"
)

// The samples: counters with jitter, one sample every ten seconds for an hour.
const (
	samplesOfSeries   = 360
	samplesStep       = 10_000        // ms
	samplesBegin      = 1_760_000_400 // seconds since 1970
	seriesOfRequest   = 2000
	seriesOfInstance  = 50
	allSamples        = 10_000 * samplesOfSeries
	quickSamples      = 1_000 * samplesOfSeries
	sizeOfRequestSize = 8
)

// prepareSamples writes the remote write requests into folder, unless an earlier run did..
func prepareSamples(_ context.Context, folder string, n int, progress io.Writer) (*input, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("make the working folder: %w", err)
	}
	in := &input{
		path: filepath.Join(folder, fmt.Sprintf("samples-%d.snappy", n)), rows: n, generator: "synthetic", header: http.Header{
			"Content-Type": {"application/x-protobuf"}, "Content-Encoding": {"snappy"}, "X-Prometheus-Remote-Write-Version": {"0.1.0"},
		},
	}
	cuts := in.path + ".cuts"
	if _, err := os.Stat(cuts); errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(progress, "writing %d samples\n", n)
		if err := writeSamples(in.path, cuts, n/samplesOfSeries); err != nil {
			return nil, fmt.Errorf("write samples: %w", err)
		}
	}
	text, err := os.ReadFile(cuts)
	if err != nil {
		return nil, err
	}
	for ; len(text) >= sizeOfRequestSize; text = text[sizeOfRequestSize:] {
		in.cuts = append(in.cuts, int64(binary.LittleEndian.Uint64(text)))
	}
	in.bytes = in.cuts[len(in.cuts)-1]
	return in, nil
}

// writeSamples writes requests one behind the other, and where they end into a file of its own.
func writeSamples(path, cuts string, series int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	ends := binary.LittleEndian.AppendUint64(nil, 0)
	at := 0
	err = requests(series, func(body []byte) error {
		n, err := w.Write(body)
		at += n
		ends = binary.LittleEndian.AppendUint64(ends, uint64(at))
		return err
	})
	if err := errors.Join(err, w.Flush(), f.Close()); err != nil {
		return err
	}
	return os.WriteFile(cuts, ends, 0o644)
}

// requests calls send with every request.
func requests(n int, send func(body []byte) error) error {
	rng := rand.New(rand.NewPCG(1, 2)) // the same samples every time
	series, values := make([]prompb.TimeSeries, n), make([]float64, n)
	for i := range series {
		instance := i / seriesOfInstance
		series[i].Labels = []prompb.Label{
			{Name: "__name__", Value: "http_requests_total"},
			{Name: "code", Value: strconv.Itoa(200 + i%4*100)},
			{Name: "instance", Value: fmt.Sprintf("10.0.%d.%d:9100", instance/250, instance%250)},
			{Name: "job", Value: "job-" + strconv.Itoa(instance%20)},
			{Name: "path", Value: "/api/v1/thing/" + strconv.Itoa(i%seriesOfInstance)},
		}
		series[i].Samples = make([]prompb.Sample, 1)
	}
	for step := range samplesOfSeries {
		for i := range series {
			values[i] += float64(rng.IntN(100))
			at := int64(samplesBegin)*1000 + int64(step)*samplesStep + int64(i%1000)
			series[i].Samples[0] = prompb.Sample{Timestamp: at, Value: values[i]}
		}
		for i := 0; i < n; i += seriesOfRequest {
			body, err := (&prompb.WriteRequest{Timeseries: series[i:min(i+seriesOfRequest, n)]}).Marshal()
			if err != nil {
				return err
			}
			if err := send(snappy.Encode(nil, body)); err != nil {
				return err
			}
		}
	}
	return nil
}
