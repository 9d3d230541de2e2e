//go:build chaos

package chaos_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mstest"
	"github.com/millstream/millstream/internal/testkit/smalldisk"
)

// TestKillLong is TestKill with as many rounds as are asked for.
func TestKillLong(t *testing.T) {
	killRounds(t, seed(t, uint64(time.Now().UnixNano())), number(t, "MILLSTREAM_CHAOS_ROUNDS", 200))
}

// TestServersLong is TestServers with as many rounds as are asked for.
func TestServersLong(t *testing.T) {
	serverRounds(t, seed(t, uint64(time.Now().UnixNano())), number(t, "MILLSTREAM_CHAOS_ROUNDS", 60))
}

// TestFullDiskLong is TestKillLong on a disk that is full again and again.
func TestFullDiskLong(t *testing.T) {
	program, err := mstest.Program()
	require.NoError(t, err)
	smalldisk.Run(t, "512m", func(t *testing.T, dir string) {
		t.Helper()
		fullDiskRounds(t, dir, seed(t, uint64(time.Now().UnixNano())), number(t, "MILLSTREAM_CHAOS_ROUNDS", 200))
	}, mstest.EnvProgram+"="+program)
}

// TestDamagedLogLong is TestDamagedLog with all damages and every cut of up to 40 bytes.
func TestDamagedLogLong(t *testing.T) {
	all := damages()
	for n := range int64(40) {
		all = append(all, cut(n+1))
	}
	damageAll(t, all)
}

// TestClusterLong is TestCluster for as many minutes as are asked for, with PostgreSQL away for 5 s and 60 s.
func TestClusterLong(t *testing.T) {
	minutes := time.Duration(number(t, "MILLSTREAM_CHAOS_MINUTES", 15)) * time.Minute
	clusterRounds(t, seed(t, uint64(time.Now().UnixNano())), func(_ int, began time.Time) bool {
		return time.Since(began) < minutes
	}, time.Minute)
}
