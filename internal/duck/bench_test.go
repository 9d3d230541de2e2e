package duck_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/duck"
	"github.com/millstream/millstream/internal/tenant"
)

// BenchmarkAcquire opens an instance for another org each time (cold) or takes the warm one of the same org.
func BenchmarkAcquire(b *testing.B) {
	for _, c := range []struct {
		name string
		orgs []tenant.ID
	}{{"cold", []tenant.ID{"a", "b"}}, {"warm", []tenant.ID{"a"}}} {
		b.Run(c.name, func(b *testing.B) {
			p, err := duck.NewPool(duck.Options{
				Concurrency: 1, WarmInstances: 1, MemoryLimit: 256 << 20, TempDir: b.TempDir(), Threads: 1,
			}, nil, nil)
			require.NoError(b, err)
			for n := 0; b.Loop(); n++ {
				i, err := p.Acquire(b.Context(), c.orgs[n%len(c.orgs)])
				require.NoError(b, err)
				i.Release()
			}
			require.NoError(b, p.Close())
		})
	}
}
