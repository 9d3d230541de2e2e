package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"
	thanos "github.com/thanos-io/objstore"
	"github.com/thanos-io/objstore/exthttp"
	"github.com/thanos-io/objstore/providers/azure"
	"github.com/thanos-io/objstore/providers/gcs"
	"github.com/thanos-io/objstore/providers/s3"

	"github.com/millstream/millstream/internal/objstore"
)

// component stands in the user agent that servers log.
const component = "millstream"

// Open opens the store that opts name. Metrics are registered at reg; nil registers nowhere. It does not reach the network except
// for Google's credentials; Probe does.
func Open(ctx context.Context, opts Options, reg prometheus.Registerer) (objstore.Store, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	if opts.Backend == Local {
		local, err := objstore.NewLocal(opts.Root)
		if err != nil {
			return nil, err
		}
		return objstore.Instrument(local, reg), nil
	}
	b, err := openBucket(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("open %s bucket %q: %w", opts.Backend, opts.Bucket, err)
	}
	return objstore.Retry(objstore.Instrument(b, reg), objstore.RetryOptions{}), nil
}

// Probe reports whether the store answers and lets this process read: it looks for an object that no one stores.
func Probe(ctx context.Context, s objstore.Reader) error {
	_, err := s.Stat(ctx, "probe")
	if err != nil && !errors.Is(err, objstore.ErrNotFound) {
		return fmt.Errorf("probe the object store: %w", err)
	}
	return nil
}

func openBucket(ctx context.Context, opts Options) (*bucket, error) {
	transport := newTransport()
	b := &bucket{
		prefix:    strings.Trim(opts.Root, "/"),
		threshold: opts.MultipartThreshold,
		transport: transport,
	}
	if b.prefix != "" {
		b.prefix += "/"
	}
	httpConfig := exthttp.DefaultHTTPConfig
	httpConfig.Transport = transport
	var err error
	switch opts.Backend {
	case S3:
		b.whole, err = openS3(opts, httpConfig, true)
		if err == nil {
			b.parts, err = openS3(opts, httpConfig, false)
		}
	case GCS:
		b.whole, err = gcs.NewBucketWithConfig(ctx, log.NewNopLogger(), gcs.Config{
			Bucket: opts.Bucket, HTTPConfig: httpConfig, MaxRetries: 1,
		}, component, nil)
		b.parts = b.whole
	case Azure:
		b.whole, err = azure.NewBucketWithConfig(log.NewNopLogger(), azure.Config{
			StorageAccountName: opts.AccessKey, StorageAccountKey: opts.SecretKey,
			ContainerName: opts.Bucket, Endpoint: opts.Endpoint, HTTPConfig: httpConfig,
		}, component, nil)
		b.parts = b.whole
	case Local:
		err = errors.New("a folder is no bucket")
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// openS3 makes a client that sends every object in one request (whole), or in parts.
func openS3(opts Options, httpConfig exthttp.HTTPConfig, whole bool) (thanos.Bucket, error) {
	host, insecure := endpoint(opts.Endpoint, opts.Region)
	lookup := s3.AutoLookup
	if opts.PathStyle {
		lookup = s3.PathLookup
	}
	return s3.NewBucketWithConfig(log.NewNopLogger(), s3.Config{
		Bucket: opts.Bucket, Endpoint: host, Insecure: insecure, Region: opts.Region,
		AccessKey: opts.AccessKey, SecretKey: opts.SecretKey,
		BucketLookupType: lookup,
		HTTPConfig:       httpConfig,
		DisableMultipart: whole,
		PartSize:         uint64(opts.MultipartPartSize),
		SendContentMd5:   true, // every server checks it, checksums of other kinds only some
		MaxRetries:       1,    // objstore.Retry repeats, and counts
	}, component, nil)
}

// endpoint splits a configured endpoint into the client's host and whether TLS is off.
func endpoint(configured, region string) (host string, insecure bool) {
	if rest, ok := strings.CutPrefix(configured, "http://"); ok {
		return strings.TrimSuffix(rest, "/"), true
	}
	host = strings.TrimSuffix(strings.TrimPrefix(configured, "https://"), "/")
	switch {
	case host != "":
		return host, false
	case region != "":
		return "s3." + region + ".amazonaws.com", false
	default:
		return "s3.amazonaws.com", false
	}
}

// newTransport is a transport of this store's own, so that Close can end its idle connections.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		MaxIdleConns:          100,
		MaxIdleConnsPerHost:   100,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: time.Minute,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true, // objects are compressed already, and ranges count stored bytes
	}
}
