package config

import (
	"slices"
	"strings"

	"github.com/millstream/millstream/internal/limits"
)

// Config is every setting of a process. Durations, sizes and paths are ready to use: Load has applied defaults that hang on the
// machine or on other keys, and made paths absolute.
type Config struct {
	Node         Node
	HTTP         Listener
	GRPC         Listener
	OTLPHTTP     Listener
	OTLPGRPC     Listener
	Cluster      Cluster
	MetaDatabase MetaDatabase
	ObjectStore  ObjectStore
	WAL          WAL
	Router       Routing
	Intake       Intake
	Querier      Querier
	Compactor    Compactor
	Cache        Cache
	Auth         Auth
	Limits       limits.Limits // of an org without an override
	Overrides    Overrides
	Log          Log

	// CipherKey encrypts stored secrets; the same on all nodes. Empty: standalone makes one in its data directory.
	CipherKey Secret
	// SelfTelemetryToken is sent with the node's own telemetry when it goes to a cluster.
	SelfTelemetryToken Secret

	// Memory is how the process divides the machine's memory.
	Memory Memory

	keys []*key // all keys in the order of the reference
}

// newConfig returns a tree of defaults whose keys point into it.
func newConfig() *Config {
	c := &Config{}
	c.keys = declareAll(c).keys
	return c
}

// declareAll sets all defaults in c and returns its keys.
func declareAll(c *Config) *declarer {
	d := &declarer{}
	d.section("node", "What this process is.", c.Node.declare)
	d.section("http", "HTTP: the full API on router and standalone; health and metrics only on other roles.", listener(&c.HTTP, 5080))
	d.section("grpc", "Internal gRPC between nodes. Opened only with a cluster token.", listener(&c.GRPC, 5082))
	d.section("otlp_http", "OTLP over HTTP on its usual port.", listener(&c.OTLPHTTP, 4318))
	d.section("otlp_grpc", "OTLP over gRPC.", listener(&c.OTLPGRPC, 4317))
	d.section("cluster", "How nodes find each other. A standalone process needs none of it.", c.Cluster.declare)
	d.section("meta_database", "Where the catalog lives.", c.MetaDatabase.declare)
	d.section("object_store", "Where data files live.", c.ObjectStore.declare)
	d.section("wal", "The log that makes rows durable before they are acknowledged.", c.WAL.declare)
	d.section("router", "Handing requests to other nodes.", c.Router.declare)
	d.section("intake", "Taking rows: buffers between the log and the files.", c.Intake.declare)
	d.section("querier", "Answering queries.", c.Querier.declare)
	d.section("compactor", "Merging small files, retention, deleting objects.", c.Compactor.declare)
	d.section("cache", "Local copies of remote objects.", c.Cache.declare)
	d.section("auth", "Who may ask.", c.Auth.declare)
	d.section("limits", "Limits of every org that the overrides file says nothing else about: docs/operate/limits.md. 0 means no limit.",
		func(d *declarer) {
			c.Limits = limits.Default()
			for _, l := range limits.Definitions() {
				d.limit(&c.Limits, l)
			}
		})
	d.section("overrides", "Limits of single orgs, read again when they change: docs/operate/limits.md.", c.Overrides.declare)
	d.section("log", "The process's own log, on standard error.", c.Log.declare)
	d.section("", "Secrets without a section.", func(d *declarer) {
		d.secret(&c.CipherKey, "cipher_key",
			"Encrypts stored secrets: at least 16 characters, the same on all nodes. Empty: standalone makes one in its data directory.")
		d.secret(&c.SelfTelemetryToken, "self_telemetry_cluster_token", "Sent with the node's own telemetry.")
	})
	return d
}

// key returns the key of that path, nil when there is none.
func (c *Config) key(path string) *key {
	i := slices.IndexFunc(c.keys, func(k *key) bool { return k.path == path })
	if i < 0 {
		return nil
	}
	return c.keys[i]
}

// LimitOrigins returns where the values of Limits came from, by the limit's name.
func (c *Config) LimitOrigins() map[string]limits.Origin {
	origins := map[string]limits.Origin{}
	for _, k := range c.keys {
		if name, ok := strings.CutPrefix(k.path, "limits."); ok {
			origins[name] = k.origin
		}
	}
	return origins
}
