package config

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Role is what a process does.
type Role string

// The roles. Standalone is all of them in one process.
const (
	Standalone  Role = "standalone"
	Router      Role = "router"
	IntakeRole  Role = "intake"
	QueryRole   Role = "querier"
	CompactRole Role = "compactor"
	AlertRole   Role = "alert"
)

// Node is what this process is.
type Node struct {
	Roles        []Role        // at least one; Standalone only alone
	ID           string        // unique in the cluster
	DataDir      string        // absolute
	DrainTimeout time.Duration // from the stop signal to the end, at most
}

func (n *Node) declare(d *declarer) {
	choices(d, &n.Roles, "roles", []Role{Standalone, Router, IntakeRole, QueryRole, CompactRole, AlertRole},
		"What this process does. standalone is everything in one process; the others are for clusters. Changing it needs a restart.")
	d.text(&n.ID, "id", "", "Name of this node, unique in the cluster. Empty: the host's name.")
	d.text(&n.DataDir, "data_dir", "./data",
		"Folder of everything local: catalog, log, objects and cache lie below it unless set apart. One process at a time.")
	d.ticks(&n.DrainTimeout, "drain_timeout_secs", time.Second, 30*time.Second,
		"How long a stop may take: finish requests, flush buffers, close.")
}

// Has reports whether the process has the role, by name or as standalone.
func (n Node) Has(r Role) bool { return n.IsStandalone() || slices.Contains(n.Roles, r) }

// IsStandalone reports whether the process is everything in one.
func (n Node) IsStandalone() bool { return slices.Contains(n.Roles, Standalone) }

// Listener is an address to listen on.
type Listener struct {
	Bind string // IP address or host name
	Port int    // 0 takes a free one
}

func listener(l *Listener, port int) func(*declarer) {
	return func(d *declarer) {
		d.text(&l.Bind, "bind", "127.0.0.1", "Address to listen on. 0.0.0.0 or :: for all; beyond loopback auth.mode must not be open.")
		count(d, &l.Port, "port", port, "Port to listen on. 0 takes a free one.")
	}
}

// Addr returns host:port.
func (l Listener) Addr() string { return net.JoinHostPort(l.Bind, strconv.Itoa(l.Port)) }

// IsLoopback reports whether only this machine reaches the address.
func (l Listener) IsLoopback() bool {
	if l.Bind == "localhost" {
		return true
	}
	ip := net.ParseIP(l.Bind)
	return ip != nil && ip.IsLoopback()
}

// Cluster is how nodes find each other.
type Cluster struct {
	AdvertiseAddr     string // host:port of the internal gRPC listener as others reach it; "" = its own address
	HeartbeatInterval time.Duration
	PeerTimeout       time.Duration // longer than HeartbeatInterval
	Token             Secret        // shared by all nodes
}

func (c *Cluster) declare(d *declarer) {
	d.text(&c.AdvertiseAddr, "advertise_addr", "",
		"host:port under which other nodes reach the internal gRPC port of this one. Empty: grpc.bind and grpc.port.")
	d.ticks(&c.HeartbeatInterval, "heartbeat_interval_secs", time.Second, 5*time.Second, "How often a node says that it lives.")
	d.ticks(&c.PeerTimeout, "peer_timeout_secs", time.Second, 15*time.Second,
		"A node that was silent for so long is ignored. At least twice cluster.heartbeat_interval_secs.")
	d.secret(&c.Token, "token", "Opens the internal gRPC port. The same on all nodes; without it standalone does not open that port.")
}

// MetaDatabase is where the catalog lives.
type MetaDatabase struct {
	DSN string // "" = SQLite in the data directory; else a postgres URL
}

func (m *MetaDatabase) declare(d *declarer) {
	d.text(&m.DSN, "dsn", "",
		"PostgreSQL URL, as in postgres://user:password@host/database. Empty: SQLite in node.data_dir, for standalone only.")
	k := d.keys[len(d.keys)-1]
	k.show = func() string { return quote(withoutPassword(m.DSN)) }
}

// withoutPassword returns a URL fit for printing.
func withoutPassword(dsn string) string {
	if dsn == "" {
		return ""
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return redacted
	}
	if _, ok := u.User.Password(); ok {
		u.User = url.UserPassword(u.User.Username(), "redacted")
	}
	if q := u.Query(); q.Has("password") {
		q.Set("password", "redacted")
		u.RawQuery = q.Encode()
	}
	return u.String()
}

// AuthMode says how a request names its org.
type AuthMode string

// The modes.
const (
	AuthOpen   AuthMode = "open"
	AuthHeader AuthMode = "header"
	AuthToken  AuthMode = "token"
)

// Auth is who may ask.
type Auth struct {
	Mode AuthMode
	// JWTSecretOverride signs tokens instead of the secret in the catalog.
	JWTSecretOverride Secret
}

func (a *Auth) declare(d *declarer) {
	choice(d, &a.Mode, "mode", []AuthMode{AuthOpen, AuthHeader, AuthToken},
		"open: X-Scope-OrgID is optional, org default without it; loopback only. header: X-Scope-OrgID is required, a gateway sets it. "+
			"token: a token says which orgs, X-Scope-OrgID chooses among them.")
	d.secret(&a.JWTSecretOverride, "jwt_secret_override",
		"Signs web tokens instead of the secret that the catalog holds; at least 32 characters, the same on all nodes.")
}

// LogLevel is the least level that is written.
type LogLevel string

// The levels.
const (
	LevelInfo  LogLevel = "info"
	LevelDebug LogLevel = "debug"
	LevelWarn  LogLevel = "warn"
	LevelError LogLevel = "error"
)

// LogFormat is how a log line is written.
type LogFormat string

// The formats: key=value, or one JSON object a line.
const (
	FormatText LogFormat = "text"
	FormatJSON LogFormat = "json"
)

// Log is the process's own log.
type Log struct {
	Level  LogLevel
	Format LogFormat
}

func (l *Log) declare(d *declarer) {
	choice(d, &l.Level, "level", []LogLevel{LevelInfo, LevelDebug, LevelWarn, LevelError}, "Least level that is written.")
	choice(d, &l.Format, "format", []LogFormat{FormatText, FormatJSON}, "key=value, or one JSON object a line.")
}
