package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"strings"

	"github.com/minio/minio-go/v7"
	thanos "github.com/thanos-io/objstore"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/objstore"
)

// bucket fits a client of thanos-io/objstore to objstore's contract.
type bucket struct {
	whole     thanos.Bucket // sends an object in one request; used for everything but large uploads
	parts     thanos.Bucket // sends an object in parts
	threshold int64         // bytes from which parts is used
	prefix    string        // leads every key in the bucket; "" or with a slash at its end
	transport *http.Transport
}

// Get implements objstore.Reader.
func (b *bucket) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := objstore.CheckKey(key); err != nil {
		return nil, err
	}
	r, err := b.whole.Get(ctx, b.prefix+key)
	if errors.Is(err, io.EOF) && b.isEmpty(ctx, key) {
		return io.NopCloser(strings.NewReader("")), nil
	}
	if err != nil {
		return nil, b.fault(ctx, err, "get", key)
	}
	return body{r, ctx.Err, key}, nil
}

// isEmpty tells an object without bytes, which S3's client reports as EOF, from a connection that ended.
func (b *bucket) isEmpty(ctx context.Context, key string) bool {
	info, err := b.Stat(ctx, key)
	return err == nil && info.Size == 0
}

// GetRange implements objstore.Reader.
func (b *bucket) GetRange(ctx context.Context, key string, off, length int64) (io.ReadCloser, error) {
	if err := errors.Join(objstore.CheckKey(key), objstore.CheckRange(off, length)); err != nil {
		return nil, err
	}
	if length > math.MaxInt64-off {
		length = -1 // the client's word for "up to the end"
	}
	r, err := b.whole.GetRange(ctx, b.prefix+key, off, length)
	if pastEnd(err) {
		return nil, objstore.ErrPastEnd(key, off)
	}
	if err != nil {
		return nil, b.fault(ctx, err, "get range of", key)
	}
	return body{r, ctx.Err, key}, nil
}

// Stat implements objstore.Reader.
func (b *bucket) Stat(ctx context.Context, key string) (objstore.Info, error) {
	if err := objstore.CheckKey(key); err != nil {
		return objstore.Info{}, err
	}
	attrs, err := b.whole.Attributes(ctx, b.prefix+key)
	if err != nil {
		return objstore.Info{}, b.fault(ctx, err, "stat", key)
	}
	return objstore.Info{Size: attrs.Size, Modified: attrs.LastModified}, nil
}

// LocalPath implements objstore.Reader: the bytes are elsewhere.
func (b *bucket) LocalPath(string) (string, bool) { return "", false }

// Put implements objstore.Store.
func (b *bucket) Put(ctx context.Context, key string, r io.ReaderAt, size int64) error {
	if err := objstore.CheckKey(key); err != nil {
		return err
	}
	client := b.whole
	if size >= b.threshold {
		client = b.parts
	}
	if err := client.Upload(ctx, b.prefix+key, content{io.NewSectionReader(r, 0, size)}); err != nil {
		return b.fault(ctx, err, "put", key)
	}
	return nil
}

// content is a section that tells the client its size.
type content struct{ *io.SectionReader }

// ObjectSize implements thanos.ObjectSizer.
func (c content) ObjectSize() (int64, error) { return c.Size(), nil }

// PutFile implements objstore.Store.
func (b *bucket) PutFile(ctx context.Context, key, path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("put object %q: %w", key, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("put object %q: %w", key, err)
	}
	return b.Put(ctx, key, f, info.Size())
}

// Delete implements objstore.Store.
func (b *bucket) Delete(ctx context.Context, key string) error {
	if err := objstore.CheckKey(key); err != nil {
		return err
	}
	err := b.fault(ctx, b.whole.Delete(ctx, b.prefix+key), "delete", key)
	if errors.Is(err, objstore.ErrNotFound) {
		return nil
	}
	return err
}

// List implements objstore.Store.
func (b *bucket) List(ctx context.Context, prefix string, visit func(objstore.Entry) error) error {
	if err := objstore.CheckPrefix(prefix); err != nil {
		return err
	}
	var visitErr error
	err := b.whole.IterWithAttributes(ctx, b.prefix+prefix, func(attrs thanos.IterObjectAttributes) error {
		if strings.HasSuffix(attrs.Name, "/") {
			return nil // a marker object that some consoles make for a folder
		}
		modified, _ := attrs.LastModified() // asked for below
		visitErr = visit(objstore.Entry{Key: strings.TrimPrefix(attrs.Name, b.prefix), Modified: modified})
		return visitErr
	}, thanos.WithRecursiveIter(), thanos.WithUpdatedAt())
	if visitErr != nil {
		return visitErr
	}
	return b.fault(ctx, err, "list", prefix)
}

// Close implements objstore.Store.
func (b *bucket) Close() error {
	err := b.whole.Close()
	if b.parts != b.whole {
		err = errors.Join(err, b.parts.Close())
	}
	b.transport.CloseIdleConnections()
	return err
}

// fault turns an error of the client into one of the contract; nil stays nil.
func (b *bucket) fault(ctx context.Context, err error, action, key string) error {
	switch {
	case err == nil:
		return nil
	case b.whole.IsObjNotFoundErr(err):
		return fmt.Errorf("object %q: %w", key, objstore.ErrNotFound)
	case ctx.Err() != nil:
		return fmt.Errorf("%s object %q: %w", action, key, ctx.Err())
	case b.whole.IsAccessDeniedErr(err):
		return fault.Wrap(fault.Internal, err, "object store: access denied: cannot %s %q", action, key)
	}
	return fault.Wrap(fault.Unavailable, err, "object store: cannot %s %q", action, key)
}

// pastEnd reports whether the server refused a range because the object ends before it. Azure's and Google's clients answer other
// texts; there a range past the end is an unavailable store, which callers that know an object's size never meet.
func pastEnd(err error) bool {
	var answer minio.ErrorResponse
	return errors.As(err, &answer) && answer.StatusCode == http.StatusRequestedRangeNotSatisfiable
}

// body gives read errors in the middle of an object the contract's kinds.
type body struct {
	io.ReadCloser
	ctxErr func() error
	key    string
}

// Read implements io.Reader.
func (b body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return n, err
	case b.ctxErr() != nil:
		return n, b.ctxErr()
	}
	return n, fault.Wrap(fault.Unavailable, err, "object store: %q broke off", b.key)
}
