package otlpgrpc

import (
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // registers gzip, which every exporter can send
)

// maxZstdWindow bounds the memory that a zstd frame may ask for.
const maxZstdWindow = 32 << 20

// RegisterCompressors makes zstd and snappy (framed), as the OpenTelemetry Collector sends them, known to gRPC beside gzip. gRPC
// keeps compressors for the whole process and reads them without a lock, so this must be called before the first server or client
// is made.
func RegisterCompressors() {
	encoding.RegisterCompressor(&zstdCompressor{})
	encoding.RegisterCompressor(snappyCompressor{})
}

// zstdCompressor keeps idle decoders, which are costly to make. gRPC bounds what is read from them.
type zstdCompressor struct{ idle sync.Pool }

// Name implements encoding.Compressor.
func (*zstdCompressor) Name() string { return "zstd" }

// Compress implements encoding.Compressor. Answers are small.
func (*zstdCompressor) Compress(w io.Writer) (io.WriteCloser, error) {
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(64<<10))
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return z, nil
}

// Decompress implements encoding.Compressor.
func (c *zstdCompressor) Decompress(r io.Reader) (io.Reader, error) {
	if z, ok := c.idle.Get().(*zstd.Decoder); ok {
		if err := z.Reset(r); err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		return &zstdReader{decoder: z, idle: &c.idle}, nil
	}
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return &zstdReader{decoder: z, idle: &c.idle}, nil
}

// zstdReader gives its decoder back when the message ends. A decoder that is never read to its end holds no goroutine and is left to
// the garbage collector.
type zstdReader struct {
	decoder *zstd.Decoder
	idle    *sync.Pool
}

// Read implements io.Reader.
func (r *zstdReader) Read(p []byte) (int, error) {
	if r.decoder == nil {
		return 0, io.EOF
	}
	n, err := r.decoder.Read(p)
	if err == io.EOF { //nolint:errorlint // io.Reader returns the bare value
		if r.decoder.Reset(nil) == nil {
			r.idle.Put(r.decoder)
		}
		r.decoder = nil
	}
	return n, err
}

// snappyCompressor is the framed form of snappy.
type snappyCompressor struct{}

// Name implements encoding.Compressor.
func (snappyCompressor) Name() string { return "snappy" }

// Compress implements encoding.Compressor.
func (snappyCompressor) Compress(w io.Writer) (io.WriteCloser, error) {
	return s2.NewWriter(w, s2.WriterSnappyCompat(), s2.WriterConcurrency(1)), nil
}

// Decompress implements encoding.Compressor. Blocks of snappy have at most 64 KiB.
func (snappyCompressor) Decompress(r io.Reader) (io.Reader, error) {
	return s2.NewReader(r, s2.ReaderMaxBlockSize(64<<10)), nil
}
