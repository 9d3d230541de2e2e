package config_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/config"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/limits"
)

// machine is what the tests pretend to run on.
var machine = config.Machine{Host: "host-1", Cores: 4, Memory: 8 << 30}

func load(t *testing.T, path string, environ ...string) (*config.Config, []config.Warning, error) {
	t.Helper()
	return config.Load(config.Sources{Path: path, Environ: environ, Machine: machine})
}

func TestGoodFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.good.toml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			c, _, err := load(t, file)
			require.NoError(t, err)

			var printed bytes.Buffer
			require.NoError(t, c.Print(&printed, false))
			again := write(t, strings.ReplaceAll(printed.String(), "ms:redacted@", "ms:secret@"))
			c2, _, err := load(t, again)
			require.NoError(t, err, "what is printed can be read:\n%s", printed.String())
			var reprinted bytes.Buffer
			require.NoError(t, c2.Print(&reprinted, false))
			require.Equal(t, values(printed.String()), values(reprinted.String()))
		})
	}
}

// TestLokisLimits reads the file that gives every org Loki's defaults.
func TestLokisLimits(t *testing.T) {
	t.Parallel()
	c, _, err := load(t, filepath.Join("..", "..", "docs", "operate", "loki-limits.toml"))
	require.NoError(t, err)
	require.EqualValues(t, 256<<10, c.Limits.MaxLineSize)
	require.Equal(t, 7*24*time.Hour, c.Limits.RejectOldSamplesMaxAge)
	require.Equal(t, limits.FromFile, c.LimitOrigins()[limits.MaxLineSize])
	require.Equal(t, limits.FromDefault, c.LimitOrigins()[limits.MaxColumnsPerStream])
}

// values drops the origins, which differ between a file and its printed form.
func values(printed string) (lines []string) {
	for line := range strings.Lines(printed) {
		line, _, _ = strings.Cut(line, " # ")
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

// TestBadFiles compares the faults of each file with those that its "# want: " lines tell, in order.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.bad.toml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var want []string
			for line := range strings.Lines(string(text)) {
				if fault, ok := strings.CutPrefix(line, "# want: "); ok {
					want = append(want, strings.TrimSpace(fault))
				}
			}
			c, _, err := load(t, file)
			require.Nil(t, c)
			require.Equal(t, want, faults(t, err))
		})
	}
}

// faults returns the lines of the faults in err's chain.
func faults(t *testing.T, err error) []string {
	t.Helper()
	require.True(t, fault.Is(err, fault.Invalid))
	all, ok := errors.AsType[config.Faults](err)
	require.True(t, ok)
	lines := make([]string, len(all))
	for i, f := range all {
		lines[i] = f.String()
	}
	return lines
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c, warnings, err := load(t, "")
	require.NoError(t, err)
	require.Empty(t, warnings)
	here, err := os.Getwd()
	require.NoError(t, err)

	require.True(t, c.Node.Has(config.IntakeRole))
	require.Equal(t, "host-1", c.Node.ID)
	require.Equal(t, filepath.Join(here, "data"), c.Node.DataDir)
	require.Equal(t, filepath.Join(here, "data", "wal"), c.WAL.Dir)
	require.Equal(t, filepath.Join(here, "data", "objects"), c.ObjectStore.Root)
	require.Equal(t, filepath.Join(here, "data", "cache"), c.Cache.Dir)
	require.Equal(t, "127.0.0.1:5080", c.HTTP.Addr())
	require.Equal(t, "127.0.0.1:5082", c.Cluster.AdvertiseAddr)
	require.Equal(t, 4, c.Querier.Concurrency)
	require.Equal(t, int64(2<<30), c.Querier.MemoryLimit)
	require.Equal(t, int64(32<<20), c.Intake.BufferMaxSize)
	require.Equal(t, 10*time.Minute, c.Limits.CreationGracePeriod)
	require.Zero(t, c.Compactor.Retention)
}

func TestEverythingCanBeSet(t *testing.T) {
	t.Parallel()
	c, warnings, err := load(t, "testdata/everything.good.toml", "MS_OBJECT_STORE_ACCESS_KEY=a", "MS_OBJECT_STORE_SECRET_KEY=b")
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Equal(t, int64(128e6), c.WAL.SegmentSize)
	require.Equal(t, config.SyncEveryWrite, c.WAL.Sync)
	require.Equal(t, int64(5_000_000_000), c.Querier.MaxScanRows)
	require.Equal(t, 250*time.Millisecond, c.Querier.BufferTimeout)
	require.Equal(t, 30*24*time.Hour, c.Compactor.Retention)
	require.Equal(t, 30*24*time.Hour, c.Limits.RetentionPeriod)
	require.Equal(t, int64(4<<20), c.Limits.IngestionRate)
	require.Equal(t, int64(6.5*(1<<20)), c.Limits.IngestionBurst)
	require.Equal(t, "prod", c.ObjectStore.Root, "a bucket's root is no path")
	require.Equal(t, "b", c.ObjectStore.SecretKey.Reveal())

	var printed bytes.Buffer
	require.NoError(t, c.Print(&printed, true))
	require.NotContains(t, printed.String(), "default")
}

func TestNumbersOfMebibytes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"4": 4 << 20, "0.5": 512 << 10, "0": 0, "0.0000001": 1} {
		c, _, err := load(t, "", "MS_LIMITS_INGESTION_RATE_MB="+text)
		require.NoError(t, err, text)
		require.Equal(t, want, c.Limits.IngestionRate, text)
	}
	for _, text := range []string{"-1", "4MiB", "NaN", "Inf", "1e300", ""} {
		_, _, err := load(t, "", "MS_LIMITS_INGESTION_RATE_MB="+text)
		require.ErrorContains(t, err, "a number of MiB of at least 0 is expected, without a unit", text)
	}
}

func TestEnvironmentStandsAboveTheFile(t *testing.T) {
	t.Parallel()
	secret := write(t, "from-a-file\n")
	file := write(t, "[node]\nroles = [\"router\"]\nid = \"file\"\n[wal]\nsync = \"none\"\n")
	c, warnings, err := load(t, file,
		"MS_NODE_ROLES=intake, querier", "MS_HTTP_PORT=81", "MS_OBJECT_STORE_PATH_STYLE=true", "MS_QUERIER_MEMORY_LIMIT=1GiB",
		"MS_META_DATABASE_DSN=postgres://u:hunter2@db/ms", "MS_CLUSTER_TOKEN_FILE="+secret, "MS_LIMITS_QUERY_TIMEOUT=30s",
		"PATH=/bin", "MSX=1",
		// Kubernetes, for services called ms-query and ms-http.
		"MS_QUERY_SERVICE_HOST=10.0.0.1", "MS_QUERY_PORT_80_TCP=tcp://10.0.0.1:80", "MS_OTLP_HTTP_PORT=tcp://10.0.0.1:80",
	)
	require.NoError(t, err)
	require.Equal(t, []config.Role{config.IntakeRole, config.QueryRole}, c.Node.Roles)
	require.False(t, c.Node.Has(config.CompactRole))
	require.Equal(t, "file", c.Node.ID)
	require.Equal(t, 81, c.HTTP.Port)
	require.Equal(t, 4318, c.OTLPHTTP.Port)
	require.True(t, c.ObjectStore.PathStyle)
	require.Equal(t, "from-a-file", c.Cluster.Token.Reveal())
	require.Equal(t, []string{
		"MS_OTLP_HTTP_PORT: ignored: it looks like a service variable of Kubernetes",
		"MS_QUERY_PORT_80_TCP: ignored: it looks like a service variable of Kubernetes",
		"MS_QUERY_SERVICE_HOST: ignored: it looks like a service variable of Kubernetes",
		"wal.sync: none: acknowledged rows are lost when the power fails or the kernel stops",
		"object_store.backend: local: every node must see the same folder " + c.ObjectStore.Root,
		"cluster.advertise_addr: 127.0.0.1:5082 is not an address under which other machines reach this one",
	}, texts(warnings))

	var printed bytes.Buffer
	require.NoError(t, c.Print(&printed, true))
	require.Contains(t, printed.String(), `roles = ["intake", "querier"]`)
	require.Contains(t, printed.String(), "# env")
	require.Contains(t, printed.String(), "# file")
	require.NotContains(t, printed.String(), "hunter2")
	require.NotContains(t, printed.String(), "from-a-file")
}

func TestBadEnvironment(t *testing.T) {
	t.Parallel()
	_, _, err := load(t, "",
		"MS_NODE_ROLE=router", "MS_NODE.ROLES=router", "MS_HTTP_PORT=http", "MS_NODE_ROLES=[router", "MS_OBJECT_STORE_PATH_STYLE=yes",
		"MS_CIPHER_KEY=", "MS_CLUSTER_TOKEN=a", "MS_CLUSTER_TOKEN_FILE=testdata/laptop.good.toml", "MS_NODE_ID_FILE=/x",
	)
	require.Equal(t, []string{
		"MS_CIPHER_KEY: the secret is empty",
		"MS_CLUSTER_TOKEN_FILE: MS_CLUSTER_TOKEN is set too; keep one of them",
		"MS_HTTP_PORT: a whole number of at least 0 is expected",
		"MS_NODE.ROLES: unknown variable; did you mean MS_NODE_ROLES?",
		"MS_NODE_ID_FILE: unknown variable; did you mean MS_NODE_ID?",
		"MS_NODE_ROLE: unknown variable; did you mean MS_NODE_ROLES?",
		`MS_NODE_ROLES: a list is expected, as in ["a", "b"]`,
		"MS_OBJECT_STORE_PATH_STYLE: true or false is expected",
	}, faults(t, err))

	_, _, err = load(t, "testdata/missing.toml", "MS_CIPHER_KEY_FILE=testdata/missing")
	require.Len(t, faults(t, err), 2, "a file that is not there hides no other fault")
}

func TestOpenModeIsForLoopback(t *testing.T) {
	t.Parallel()
	for bind, ok := range map[string]bool{
		"127.0.0.1": true, "127.5.0.1": true, "::1": true, "localhost": true,
		"0.0.0.0": false, "::": false, "10.0.0.1": false, "example.org": false,
	} {
		for _, name := range []string{"HTTP", "GRPC", "OTLP_HTTP", "OTLP_GRPC"} {
			_, _, err := load(t, "", "MS_"+name+"_BIND="+bind)
			require.Equal(t, ok, err == nil, "%s on %s", name, bind)
			_, _, err = load(t, "", "MS_"+name+"_BIND="+bind, "MS_AUTH_MODE=header")
			require.NoError(t, err)
		}
	}
}

func TestMemoryIsDivided(t *testing.T) {
	t.Parallel()
	c, _, err := load(t, "")
	require.NoError(t, err)
	m := c.Memory
	require.Equal(t, int64(2<<30), m.Engine)
	require.Equal(t, int64(128<<20), m.Buffers)
	require.Equal(t, int64(256<<20), m.Merges)
	require.Equal(t, machine.Memory-m.Engine-machine.Memory/10, m.GoLimit)
	require.LessOrEqual(t, m.Engine+m.GoLimit, machine.Memory)

	c, _, err = load(t, "", "GOMEMLIMIT=1GiB")
	require.NoError(t, err)
	require.Zero(t, c.Memory.GoLimit, "the operator's own limit stays")

	_, warnings, err := load(t, "", "MS_QUERIER_MEMORY_LIMIT=8GiB")
	require.NoError(t, err)
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0].String(), "8960 MiB of 8192 MiB")

	c, _, err = config.Load(config.Sources{Machine: config.Machine{Host: "h", Cores: 1}})
	require.NoError(t, err)
	require.Equal(t, 2, c.Querier.Concurrency)
	require.Positive(t, c.Querier.MemoryLimit, "an unknown machine still works")
	require.Zero(t, c.Memory.GoLimit)
}

func TestThisMachineIsKnown(t *testing.T) {
	t.Parallel()
	m := config.DetectMachine()
	require.NotEmpty(t, m.Host)
	require.Positive(t, m.Cores)
}

func texts(warnings []config.Warning) []string {
	lines := make([]string, len(warnings))
	for i, w := range warnings {
		lines[i] = w.String()
	}
	return lines
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.toml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
