package promstore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/otlptranslator"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/sqlplan"
	"github.com/millstream/millstream/internal/tenant"
)

// namesAge is how long what the catalog said of a database's metrics is used again. The catalog lists every metric of the org, which is
// too much for every query of a dashboard.
const namesAge = 2 * time.Second

// maxNames bounds the databases that are remembered.
const maxNames = 1000

// database is what the catalog says of the metrics of one database.
type database struct {
	known         bool // some metric was ever written
	dataset       catalog.DatasetID
	options       map[string]string            // of the database
	metricOptions map[string]map[string]string // by metric, where one has a retention of its own
	read          time.Time                    // when the catalog was asked
	origins       map[string][]string          // stored names by what the naming rules make of them without unit and kind
}

// originsOf returns the stored names of which a name in PromQL may come: it begins with what the rules make of them.
func (d *database) originsOf(name string) []string {
	var out []string
	for i := range len(name) {
		out = append(out, d.origins[name[:i+1]]...)
	}
	return out
}

// plainName returns what the naming rules make of a stored name alone.
func plainName(stored string) string {
	namer := otlptranslator.MetricNamer{}
	name, err := namer.Build(otlptranslator.Metric{Name: stored})
	if err != nil {
		return stored
	}
	return name
}

type databaseKey struct {
	org  tenant.ID
	name string
}

// names remembers databases for a moment.
type names struct {
	catalog Catalog
	clock   clock.Clock
	mu      struct {
		sync.Mutex
		databases map[databaseKey]*database
	}
}

func newNames(c Catalog, clk clock.Clock) *names {
	n := &names{catalog: c, clock: clk}
	n.mu.databases = make(map[databaseKey]*database)
	return n
}

// get returns what is known of a database. One that has no metrics is asked for every time, since it may get some.
func (n *names) get(ctx context.Context, org tenant.ID, name string) (*database, error) {
	key := databaseKey{org, name}
	now := n.clock.Now()
	n.mu.Lock()
	d := n.mu.databases[key]
	n.mu.Unlock()
	if d != nil && now.Sub(d.read) < namesAge {
		return d, nil
	}
	d, err := n.load(ctx, org, name)
	if err != nil {
		return nil, err
	}
	d.read = now
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.mu.databases) >= maxNames {
		clear(n.mu.databases)
	}
	if d.known {
		n.mu.databases[key] = d
	}
	return d, nil
}

func (n *names) load(ctx context.Context, org tenant.ID, name string) (*database, error) {
	d := &database{metricOptions: make(map[string]map[string]string), origins: make(map[string][]string)}
	databases, err := n.catalog.Databases(ctx, org)
	if err != nil {
		return nil, fmt.Errorf("list databases: %w", err)
	}
	for _, x := range databases {
		if x.Name == name {
			d.options = x.Options
		}
	}
	streams, err := n.catalog.Streams(ctx, org)
	if err != nil {
		return nil, fmt.Errorf("list metrics: %w", err)
	}
	for _, s := range streams {
		if s.Signal != signal.Metrics || s.Stream.Database != name {
			continue
		}
		d.known, d.dataset = true, s.Dataset
		plain := plainName(s.Name)
		d.origins[plain] = append(d.origins[plain], s.Name)
		if s.Options[sqlplan.OptionRetention] != "" {
			d.metricOptions[s.Name] = s.Options
		}
	}
	return d, nil
}
