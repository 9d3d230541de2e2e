package objstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/objstore"
	"github.com/millstream/millstream/internal/objstore/faultstore"
	"github.com/millstream/millstream/internal/objstore/objstoretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	t.Parallel()
	objstoretest.Run(t, objstoretest.Config{
		Open:  func(*testing.T) objstore.Store { return objstore.NewMemory(nil) },
		Large: 1 << 20,
	})
}

func TestLocal(t *testing.T) {
	t.Parallel()
	objstoretest.Run(t, objstoretest.Config{Open: openLocal, Large: 1 << 20})
}

func TestDecorators(t *testing.T) {
	t.Parallel()
	objstoretest.Run(t, objstoretest.Config{
		Open: func(t *testing.T) objstore.Store {
			return objstore.Retry(objstore.Instrument(faultstore.New(openLocal(t), 1), nil), objstore.RetryOptions{})
		},
		Large: 1 << 20,
	})
}

func openLocal(t *testing.T) objstore.Store {
	t.Helper()
	s, err := objstore.NewLocal(t.TempDir())
	require.NoError(t, err)
	return s
}
