package cloud_test

import (
	"bytes"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/objstore"
	"github.com/millstream/millstream/internal/objstore/cloud"
	"github.com/millstream/millstream/internal/objstore/objstoretest"
	"github.com/millstream/millstream/internal/testkit/proctest"
	"github.com/millstream/millstream/internal/testkit/s3test"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestS3(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	// Grouped, so that the server outlives the suite's parallel cases.
	t.Run("acceptance", func(t *testing.T) {
		t.Parallel()
		objstoretest.Run(t, objstoretest.Config{
			Open: func(t *testing.T) objstore.Store {
				t.Helper()
				return openS3(t, server, proctest.Secret()) // each case below a root of its own
			},
			Large: 23 << 20, // five parts
		})
	})
}

func TestS3ComesBack(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	s := openS3(t, server, "")
	require.NoError(t, cloud.Probe(t.Context(), s))
	require.NoError(t, s.Put(t.Context(), "org/x", bytes.NewReader([]byte("kept")), 4))

	server.Kill()
	_, err := objstore.ReadAll(t.Context(), s, "org/x")
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
	require.Error(t, cloud.Probe(t.Context(), s))

	require.NoError(t, server.Start(t.Context()))
	data, err := objstore.ReadAll(t.Context(), s, "org/x")
	require.NoError(t, err)
	require.Equal(t, "kept", string(data))
	require.NoError(t, s.Close())
}

func TestS3RefusesAWrongKey(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	server.SecretKey = "wrong"
	s := openS3(t, server, "")
	require.Error(t, cloud.Probe(t.Context(), s))
	require.NoError(t, s.Close())
}

func TestLocalIsCountedAndReadInPlace(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	s, err := cloud.Open(t.Context(), cloud.Options{Backend: cloud.Local, Root: t.TempDir()}, reg)
	require.NoError(t, err)
	require.NoError(t, cloud.Probe(t.Context(), s))
	_, inPlace := s.LocalPath("org/x")
	require.True(t, inPlace)
	require.Positive(t, testutil.CollectAndCount(reg, "millstream_objstore_operations_total"))
}

func TestOptionsNameAllFaults(t *testing.T) {
	t.Parallel()
	err := cloud.Options{Backend: cloud.S3, AccessKey: "a", MultipartPartSize: 1}.Validate()
	require.ErrorContains(t, err, "needs a bucket")
	require.ErrorContains(t, err, "come together")
	require.ErrorContains(t, err, "S3's smallest")
	require.ErrorContains(t, cloud.Options{Backend: "ftp"}.Validate(), `"ftp"`)
	require.ErrorContains(t, cloud.Options{Backend: cloud.Local}.Validate(), "folder")
}

func openS3(t *testing.T, server *s3test.Server, root string) objstore.Store {
	t.Helper()
	s, err := cloud.Open(t.Context(), cloud.Options{
		Backend: cloud.S3, Root: root, Bucket: server.Bucket, Endpoint: "http://" + server.Endpoint, Region: server.Region,
		PathStyle: true, AccessKey: server.AccessKey, SecretKey: server.SecretKey,
		MultipartThreshold: 6 << 20, MultipartPartSize: 5 << 20,
	}, nil)
	require.NoError(t, err)
	return s
}
