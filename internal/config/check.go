package config

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/millstream/millstream/internal/bytesize"
	"github.com/millstream/millstream/internal/limits"
)

// namedListener is a listener and its section.
type namedListener struct {
	name string
	at   Listener
}

func (c *Config) listeners() []namedListener {
	return []namedListener{{"http", c.HTTP}, {"grpc", c.GRPC}, {"otlp_http", c.OTLPHTTP}, {"otlp_grpc", c.OTLPGRPC}}
}

// check returns all that is wrong with values that are well-formed each for itself.
func (c *Config) check() (faults Faults) {
	c.checkNode(&faults)
	c.checkListeners(&faults)
	c.checkCluster(&faults)
	c.checkAuth(&faults)
	c.checkStorage(&faults)
	c.checkWork(&faults)
	return faults
}

func (c *Config) checkNode(faults *Faults) {
	roles := c.Node.Roles
	switch {
	case len(roles) == 0:
		faults.add("node.roles", "at least one role is needed")
	case c.Node.IsStandalone() && len(roles) > 1:
		faults.add("node.roles", "standalone is all roles already; it stands alone")
	}
	for i, r := range roles {
		if slices.Contains(roles[:i], r) {
			faults.add("node.roles", "%s is listed twice", r)
		}
	}
	if !validNodeID(c.Node.ID) {
		faults.add("node.id", "%q: 1 to 255 letters, digits, dots, dashes and underscores are expected", c.Node.ID)
	}
	c.positive(faults, "node.drain_timeout_secs", c.Node.DrainTimeout)
}

func validNodeID(id string) bool {
	if id == "" || len(id) > 255 {
		return false
	}
	for i := range len(id) {
		switch b := id[i]; {
		case '0' <= b && b <= '9', 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', b == '.', b == '-', b == '_':
		default:
			return false
		}
	}
	return true
}

func (c *Config) checkListeners(faults *Faults) {
	all := c.listeners()
	for i, l := range all {
		if l.at.Bind == "" || strings.ContainsAny(l.at.Bind, " /[]") || strings.Contains(l.at.Bind, ":") && net.ParseIP(l.at.Bind) == nil {
			faults.add(l.name+".bind", "%q is neither an IP address nor a host name", l.at.Bind)
		}
		if l.at.Port > 65535 {
			faults.add(l.name+".port", "%d is no port; the highest is 65535", l.at.Port)
		}
		if c.Auth.Mode == AuthOpen && !l.at.IsLoopback() {
			faults.add(l.name+".bind", "%q is reached from other machines, where auth.mode open lets everybody read and write every org: "+
				"set auth.mode to token, or to header behind a gateway that sets X-Scope-OrgID, or bind to 127.0.0.1", l.at.Bind)
		}
		for _, other := range all[:i] {
			if l.at.Port != 0 && l.at == other.at {
				faults.add(l.name+".port", "%s is taken by [%s]", l.at.Addr(), other.name)
			}
		}
	}
}

func (c *Config) checkCluster(faults *Faults) {
	if dsn := c.MetaDatabase.DSN; dsn != "" {
		u, err := url.Parse(dsn)
		if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Host == "" && u.Query().Get("host") == "" {
			faults.add("meta_database.dsn", "a PostgreSQL URL is expected, as in postgres://user:password@host:5432/database")
		}
	}
	if !c.Node.IsStandalone() && len(c.Node.Roles) > 0 {
		if c.MetaDatabase.DSN == "" {
			faults.add("meta_database.dsn", "nodes with roles other than standalone need a PostgreSQL that they share")
		}
		if !c.Cluster.Token.IsSet() {
			faults.add("MS_CLUSTER_TOKEN", "nodes with roles other than standalone need a token that they share")
		}
	}
	if _, _, err := net.SplitHostPort(c.Cluster.AdvertiseAddr); err != nil {
		faults.add("cluster.advertise_addr", "%q: host:port is expected", c.Cluster.AdvertiseAddr)
	}
	c.positive(faults, "cluster.heartbeat_interval_secs", c.Cluster.HeartbeatInterval)
	if c.Cluster.PeerTimeout < 2*c.Cluster.HeartbeatInterval {
		faults.add("cluster.peer_timeout_secs", "it must be at least twice cluster.heartbeat_interval_secs: one late heartbeat is no death")
	}
}

// Lengths in bytes below which secrets can be guessed.
const (
	minCipherKey = 16
	minJWTSecret = 32 // of HMAC-SHA-256
)

func (c *Config) checkAuth(faults *Faults) {
	switch key := c.CipherKey; {
	case c.Auth.Mode != AuthToken:
	case key.IsSet() && len(key.Reveal()) < minCipherKey:
		faults.add("MS_CIPHER_KEY", "with auth.mode token, at least %d characters are needed", minCipherKey)
	case !c.Node.IsStandalone() && !key.IsSet():
		faults.add("MS_CIPHER_KEY", "with auth.mode token, nodes with roles other than standalone need a key that they share: "+
			"it encrypts the secret that signs tokens")
	}
	if secret := c.Auth.JWTSecretOverride; secret.IsSet() && len(secret.Reveal()) < minJWTSecret {
		faults.add("MS_AUTH_JWT_SECRET_OVERRIDE", "at least %d characters are needed", minJWTSecret)
	}
}

func (c *Config) checkStorage(faults *Faults) {
	o := c.ObjectStore
	if o.Backend != BackendLocal && o.Bucket == "" {
		faults.add("object_store.bucket", "backend %s needs a bucket", o.Backend)
	}
	if o.AccessKey.IsSet() != o.SecretKey.IsSet() {
		faults.add("object_store.access_key", "access key and secret key come together")
	}
	const minPart = 5 * mib // S3's smallest
	if o.MultipartPartSize < minPart {
		faults.add("object_store.multipart_part_size", "parts are at least 5MiB")
	}
	if o.MultipartThreshold < o.MultipartPartSize {
		faults.add("object_store.multipart_threshold_size", "it is below object_store.multipart_part_size")
	}
	if c.WAL.SegmentSize < mib {
		faults.add("wal.segment_size", "at least 1MiB is needed")
	}
	if c.WAL.Sync == SyncBatch {
		c.positive(faults, "wal.batch_max_delay_ms", c.WAL.BatchMaxDelay)
	}
}

func (c *Config) checkWork(faults *Faults) {
	c.positive(faults, "intake.flush_interval_secs", c.Intake.FlushInterval)
	for _, s := range []struct {
		key   string
		bytes int64
	}{
		{"intake.buffer_max_size", c.Intake.BufferMaxSize},
		{"intake.max_body_size", c.Intake.MaxBodySize},
		{"compactor.target_size", c.Compactor.TargetSize},
		{"compactor.memory_limit", c.Compactor.MemoryLimit},
	} {
		if s.bytes < kib {
			faults.add(s.key, "at least 1KiB is needed")
		}
	}
	if c.Intake.BufferMemoryMax < c.Intake.BufferMaxSize {
		faults.add("intake.buffer_memory_max", "it is below intake.buffer_max_size, which is for one stream")
	}
	if c.Intake.InFlightMax*3/4 < c.Intake.MaxBodySize {
		faults.add("intake.inflight_memory_max", "three quarters of it must hold a body of intake.max_body_size")
	}
	if least := minQueryMemory * int64(c.Querier.Concurrency); c.Querier.MemoryLimit < least {
		faults.add("querier.memory_limit", "%d queries at once need at least %s", c.Querier.Concurrency, bytesize.Format(least))
	}
	c.positive(faults, "overrides.period_secs", c.Overrides.Period)
	c.positive(faults, "querier.timeout_secs", c.Querier.Timeout)
	c.positive(faults, "querier.buffer_timeout_ms", c.Querier.BufferTimeout)
	c.positive(faults, "router.forward_timeout_ms", c.Router.ForwardTimeout)
	c.positive(faults, "compactor.interval_secs", c.Compactor.Interval)
	if c.Compactor.MaxConcurrentGroups == 0 {
		faults.add("compactor.max_concurrent_groups", "at least 1 is needed")
	}
	if longest := max(c.Querier.Timeout, c.Limits.QueryTimeout); c.Compactor.DeletionGrace <= longest {
		faults.add("compactor.deletion_grace_secs", "it must be longer than the longest query (%s), which may still read a deleted object",
			limits.ShowDuration(longest))
	}
}

func (c *Config) positive(faults *Faults, path string, d time.Duration) {
	if d <= 0 {
		faults.add(path, "it must be above 0")
	}
}

// warn returns what works but is probably not meant.
func (c *Config) warn() (warnings []Warning) {
	warn := func(where, format string, args ...any) {
		warnings = append(warnings, Warning{where, fmt.Sprintf(format, args...)})
	}
	if c.WAL.Sync == SyncNone {
		warn("wal.sync", "none: acknowledged rows are lost when the power fails or the kernel stops")
	}
	if m := c.Memory; m.Machine > 0 && m.Sum() > m.Machine-m.Machine/reserveShare {
		warn("memory", "the settings add up to %s of %s, which leaves less than a tenth: lower querier.memory_limit, "+
			"intake.buffer_memory_max or compactor.memory_limit", megabytes(m.Sum()), megabytes(m.Machine))
	}
	if !c.Node.IsStandalone() && c.ObjectStore.Backend == BackendLocal {
		warn("object_store.backend", "local: every node must see the same folder %s", c.ObjectStore.Root)
	}
	if c.Limits.MaxLineSize > c.Intake.MaxBodySize {
		warn("limits.max_line_size", "it is above intake.max_body_size, which refuses such a line first")
	}
	if c.Limits.QueryTimeout > c.Querier.Timeout {
		warn("limits.query_timeout", "it is above querier.timeout_secs, which ends such a query first")
	}
	if host, _, err := net.SplitHostPort(c.Cluster.AdvertiseAddr); err == nil && !c.Node.IsStandalone() {
		if ip := net.ParseIP(host); ip != nil && (ip.IsUnspecified() || ip.IsLoopback()) {
			warn("cluster.advertise_addr", "%s is not an address under which other machines reach this one", c.Cluster.AdvertiseAddr)
		}
	}
	return warnings
}

func megabytes(n int64) string { return fmt.Sprintf("%d MiB", n/mib) }
