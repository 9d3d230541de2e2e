package promapi

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/millstream/millstream/internal/fault"
)

const (
	// maxFrameBytes bounds the labels and chunks of a frame, as in Prometheus, unless one chunk alone is greater.
	maxFrameBytes = 1 << 20
	// maxReadBytes bounds an answer of samples, which is one message for its reader.
	maxReadBytes = 256 << 20
)

// samples sends the series as a message with one result.
func (r *reading) samples(ctx context.Context, set storage.SeriesSet) error {
	result := &prompb.QueryResult{}
	var it chunkenc.Iterator
	size := 0
	for set.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := set.At()
		it = s.Iterator(it)
		ts := &prompb.TimeSeries{Labels: labelsOf(s.Labels())}
		if err := appendSamples(ts, it); err != nil {
			return err
		}
		if size += ts.Size(); size > maxReadBytes {
			return fault.New(fault.TooLarge, "the samples take more than %d bytes; ask for less time or fewer series, or accept "+
				"STREAMED_XOR_CHUNKS, which has no such bound", maxReadBytes)
		}
		result.Timeseries = append(result.Timeseries, ts)
	}
	if err := set.Err(); err != nil {
		return err
	}
	part, err := (&prompb.ReadResponse{Results: []*prompb.QueryResult{result}}).Marshal()
	if err != nil {
		return fmt.Errorf("encode samples: %w", err)
	}
	return r.send(part)
}

func appendSamples(ts *prompb.TimeSeries, it chunkenc.Iterator) error {
	for typ := it.Next(); typ != chunkenc.ValNone; typ = it.Next() {
		switch typ {
		case chunkenc.ValFloat:
			t, v := it.At()
			ts.Samples = append(ts.Samples, prompb.Sample{Timestamp: t, Value: v})
		case chunkenc.ValHistogram:
			t, h := it.AtHistogram(nil)
			ts.Histograms = append(ts.Histograms, prompb.FromIntHistogram(t, h))
		case chunkenc.ValFloatHistogram:
			t, h := it.AtFloatHistogram(nil)
			ts.Histograms = append(ts.Histograms, prompb.FromFloatHistogram(t, h))
		case chunkenc.ValNone: // the loop has ended
		}
	}
	return it.Err()
}

func labelsOf(set labels.Labels) []prompb.Label {
	out := make([]prompb.Label, 0, set.Len())
	set.Range(func(l labels.Label) { out = append(out, prompb.Label{Name: l.Name, Value: l.Value}) })
	return out
}

// chunks sends the series, sorted by their labels, as frames with chunks of one series each.
func (r *reading) chunks(ctx context.Context, set storage.SeriesSet) error {
	for set.Next() {
		s := set.At()
		labels := labelsOf(s.Labels())
		room := maxFrameBytes
		for i := range labels {
			room -= labels[i].Size()
		}
		var chunks []prompb.Chunk
		size := 0
		it := storage.NewSeriesToChunkEncoder(s).Iterator(nil)
		for it.Next() {
			meta := it.At()
			c := prompb.Chunk{
				MinTimeMs: meta.MinTime, MaxTimeMs: meta.MaxTime,
				Type: prompb.Chunk_Encoding(meta.Chunk.Encoding()), Data: meta.Chunk.Bytes(),
			}
			if len(chunks) > 0 && size+c.Size() > room {
				if err := r.frame(ctx, labels, chunks); err != nil {
					return err
				}
				chunks, size = chunks[:0], 0
			}
			chunks, size = append(chunks, c), size+c.Size()
		}
		if err := it.Err(); err != nil {
			return err
		}
		if len(chunks) > 0 {
			if err := r.frame(ctx, labels, chunks); err != nil {
				return err
			}
		}
	}
	return set.Err()
}

// frame sends chunks of a series: uvarint size of the message, its CRC-32C in big endian, the message.
func (r *reading) frame(ctx context.Context, labels []prompb.Label, chunks []prompb.Chunk) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m := &prompb.ChunkedReadResponse{ChunkedSeries: []*prompb.ChunkedSeries{{Labels: labels, Chunks: chunks}}, QueryIndex: r.index}
	text, err := m.Marshal()
	if err != nil {
		return fmt.Errorf("encode chunks: %w", err)
	}
	part := binary.AppendUvarint(make([]byte, 0, len(text)+2*binary.MaxVarintLen32), uint64(len(text)))
	part = binary.BigEndian.AppendUint32(part, crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
	return r.send(append(part, text...))
}
