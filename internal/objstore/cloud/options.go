package cloud

import (
	"errors"
	"fmt"
)

// Backend names a kind of store.
type Backend string

// The backends.
const (
	Local Backend = "local"
	S3    Backend = "s3"
	GCS   Backend = "gcs"
	Azure Backend = "azure"
)

// minPartSize is S3's smallest part of a multipart upload (the last one may be smaller).
const minPartSize = 5 << 20

// Options says which store to open.
type Options struct {
	Backend Backend
	// Root is the folder of a local store, and a leading part of all keys in a bucket ("" none) so that several installations can
	// share one.
	Root string
	// Bucket is the bucket, or Azure's container. It must exist.
	Bucket string
	// Endpoint is the S3 server, host:port or a URL whose scheme says whether to use TLS (without one: TLS); "" means AWS. For Azure
	// it is the domain of the service, "" the public one.
	Endpoint string
	// Region is S3's region; "" lets the client ask the server.
	Region string
	// PathStyle puts the bucket into the path instead of the host name, as most servers other than AWS need it.
	PathStyle bool
	// AccessKey and SecretKey are S3's keys, or Azure's account and its key. Empty ones leave it to the surroundings: environment,
	// shared files, instance roles. Google's client always looks there.
	AccessKey, SecretKey string
	// MultipartThreshold is the size in bytes from which an object goes up in parts of MultipartPartSize bytes. S3 only. 0 means 32
	// and 8 MiB.
	MultipartThreshold, MultipartPartSize int64
}

func (o Options) withDefaults() Options {
	if o.MultipartThreshold == 0 {
		o.MultipartThreshold = 32 << 20
	}
	if o.MultipartPartSize == 0 {
		o.MultipartPartSize = 8 << 20
	}
	return o
}

// Validate returns all that is wrong with o.
func (o Options) Validate() error {
	o = o.withDefaults()
	var errs []error
	switch o.Backend {
	case Local:
		if o.Root == "" {
			errs = append(errs, errors.New("a local object store needs a folder (root)"))
		}
		return errors.Join(errs...)
	case S3, GCS, Azure:
	default:
		return fmt.Errorf("object store backend %q: local, s3, gcs and azure are known", o.Backend)
	}
	if o.Bucket == "" {
		errs = append(errs, fmt.Errorf("object store backend %s needs a bucket", o.Backend))
	}
	if (o.AccessKey == "") != (o.SecretKey == "") {
		errs = append(errs, errors.New("object store: access key and secret key come together"))
	}
	if o.MultipartPartSize < minPartSize {
		errs = append(errs, fmt.Errorf("object store: parts of %d bytes are below S3's smallest, %d", o.MultipartPartSize, minPartSize))
	}
	if o.MultipartThreshold < o.MultipartPartSize {
		errs = append(errs, fmt.Errorf("object store: an upload from %d bytes on cannot have parts of %d bytes",
			o.MultipartThreshold, o.MultipartPartSize))
	}
	return errors.Join(errs...)
}
