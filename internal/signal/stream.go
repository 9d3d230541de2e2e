package signal

import (
	"fmt"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/tenant"
)

// Signal is the kind of telemetry a stream carries.
type Signal uint8

// The signals. The numbers are stored in the catalog and in WAL records and never change.
const (
	Logs    Signal = 1
	Metrics Signal = 2
	Traces  Signal = 3
)

// All returns the signals in their stored order.
func All() []Signal { return []Signal{Logs, Metrics, Traces} }

// String returns the name used in paths and SQL.
func (s Signal) String() string {
	switch s {
	case Logs:
		return "logs"
	case Metrics:
		return "metrics"
	case Traces:
		return "traces"
	default:
		return fmt.Sprintf("signal(%d)", uint8(s))
	}
}

// ParseSignal returns the signal of a name as used in paths and SQL: exact, lower case.
func ParseSignal(name string) (Signal, bool) {
	switch name {
	case "logs":
		return Logs, true
	case "metrics":
		return Metrics, true
	case "traces":
		return Traces, true
	default:
		return 0, false
	}
}

// DefaultDatabase is the database of a request that names none.
const DefaultDatabase = "public"

// Names of streams whose protocol names none.
const (
	DefaultOTLPLogs   = "otel_logs"
	DefaultOTLPTraces = "otel_traces"
	DefaultLoki       = "loki_logs"
)

// Stream identifies a stream: what users write to and query. For metrics Name is the metric's name, and a batch of many metrics
// carries an empty one.
type Stream struct {
	Org      tenant.ID
	Database string
	Signal   Signal
	Name     string
}

// String returns org/signal/stream, or org/signal/database.stream outside the default database: the form used in logs, and the
// key that placement hashes.
func (s Stream) String() string {
	if s.Database == "" || s.Database == DefaultDatabase {
		return fmt.Sprintf("%s/%s/%s", s.Org, s.Signal, s.Name)
	}
	return fmt.Sprintf("%s/%s/%s.%s", s.Org, s.Signal, s.Database, s.Name)
}

// MaxNameBytes is the longest stream or database name.
const MaxNameBytes = 255

// CheckName checks a stream or database name: 1 to 255 bytes of ASCII letters, digits and _:-.{}, not "." or "..". what
// ("stream", "database") begins the error's text.
func CheckName(what, name string) error {
	switch {
	case name == "":
		return fault.New(fault.Invalid, "%s name is empty", what)
	case len(name) > MaxNameBytes:
		return fault.New(fault.Invalid, "%s name is longer than %d bytes", what, MaxNameBytes)
	case name == "." || name == "..":
		return fault.New(fault.Invalid, "%s name %q is not allowed", what, name)
	}
	for i, r := range name {
		if !nameRune(r) {
			return fault.New(fault.Invalid, "%s name %.64q: character %q at byte %d is not allowed (letters, digits and _:-.{} are)",
				what, name, r, i)
		}
	}
	return nil
}

func nameRune(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return true
	}
	switch r {
	case '_', ':', '-', '.', '{', '}':
		return true
	}
	return false
}
