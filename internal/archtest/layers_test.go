package archtest_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A layer is a group of packages with the same place in the import order. A folder stands for the packages below it as well.
type layer struct {
	name     string
	packages []string
	imports  []string // layers that its packages may import; their own layer only as peers says
	why      string   // what the layer is, for the failure text
}

// layers is the import order of docs/architecture.md, bottom first. Every package of the module stands in exactly one row.
var layers = []layer{
	{
		name: "values",
		packages: []string{
			"internal/fault", "internal/clock", "internal/bytesize", "internal/words", "internal/tenant", "internal/limits", "internal/signal",
			"internal/cluster/slot",
		},
		why: "values know no I/O",
	},
	{
		name:     "settings",
		packages: []string{"internal/config"},
		imports:  []string{"values"},
		why:      "packages take options; only the top reads settings",
	},
	{
		name: "platform",
		packages: []string{
			"internal/catalog", "internal/fresh", "internal/objstore", "internal/wal", "internal/columnar", "internal/filecache",
			"internal/searchindex", "internal/pgtables", "internal/auth",
			"internal/cluster", "internal/quota", "internal/overrides", "internal/wire", "internal/answer", "internal/lifecycle",
			"internal/telemetry", "internal/backfill",
		},
		imports: []string{"values"},
		why:     "platform packages stand beside each other",
	},
	{
		name: "engines",
		packages: []string{
			"internal/duck", "internal/sqlplan", "internal/promstore", "internal/promeval", "internal/fairqueue", "internal/ingest",
			"internal/merge", "internal/rowfind",
		},
		imports: []string{"values", "platform"},
		why:     "an engine is used by roles and knows none",
	},
	{
		name:     "roles",
		packages: []string{"internal/router", "internal/intake", "internal/querier", "internal/compactor", "internal/alert"},
		imports:  []string{"values", "platform", "engines"},
		why:      "a role declares the interface it needs of another role; app passes the object or the rpc client",
	},
	{
		name: "edges",
		packages: []string{
			"internal/ingress", "internal/frontend", "internal/httpapi", "internal/promapi", "internal/otlpgrpc", "internal/rpc", "internal/web",
		},
		imports: []string{"values", "platform", "engines", "roles"},
		why:     "edges decode, call and map faults to statuses",
	},
	{
		name:     "client",
		packages: []string{"client"},
		imports:  []string{"values"},
		why:      "the client is what others link into their programs",
	},
	{
		name:     "composition",
		packages: []string{"internal/app"},
		imports:  []string{"values", "settings", "platform", "engines", "roles", "edges", "client"},
		why:      "app alone knows which parts run; it knows no command line",
	},
	{
		name:     "commands",
		packages: []string{"internal/cli"},
		imports:  []string{"values", "settings", "platform", "client", "composition"},
		why:      "commands start app or talk to a server over its API",
	},
	{
		name:     "programs",
		packages: []string{"cmd"},
		imports:  []string{"composition", "commands"},
		why:      "main holds arguments, signals and the exit code",
	},
	{
		name:     "tests",
		packages: []string{"internal/testkit", "internal/archtest", "test", "deploy"},
		imports: []string{
			"values", "settings", "platform", "engines", "roles", "edges", "client", "composition", "commands", "programs", "tests",
		},
		why: "test code may use everything",
	},
}

// peers lists imports inside one layer: a value of another value, or the contract of another part.
var peers = map[string][]string{
	"internal/tenant":    {"internal/fault"},
	"internal/limits":    {"internal/bytesize", "internal/fault", "internal/tenant"},
	"internal/words":     {"internal/fault"},
	"internal/signal":    {"internal/fault", "internal/tenant", "internal/words"},
	"internal/catalog":   {"internal/pgtables"},
	"internal/auth":      {"internal/catalog"},
	"internal/cluster":   {"internal/pgtables"},
	"internal/quota":     {"internal/pgtables"},
	"internal/columnar":  {"internal/catalog", "internal/searchindex"},
	"internal/overrides": {"internal/catalog"},
	"internal/fresh":     {"internal/catalog"},
	"internal/filecache": {"internal/catalog", "internal/columnar", "internal/objstore"},
	"internal/sqlplan":   {"internal/duck"}, // its part sqlplanduck; restricted says so
	"internal/promstore": {"internal/sqlplan"},
	"internal/rowfind":   {"internal/sqlplan"},
	"internal/frontend":  {"internal/promapi"},
	"internal/httpapi":   {"internal/ingress", "internal/promapi"},
	"internal/otlpgrpc":  {"internal/ingress"},
	"internal/rpc":       {"internal/promapi"},
}

// restricted lists packages that only some may import.
var restricted = []struct {
	pkg   string // exact package, or a folder of packages with a trailing slash
	by    []string
	tests bool // tests are bound as well
	why   string
}{
	{
		"internal/duck",
		[]string{
			"internal/sqlplan/sqlplanduck", "internal/querier", "internal/compactor", "internal/app", "internal/testkit", "test",
		},
		true, "every importer links the SQL engine, half a minute a test binary",
	},
	{"github.com/duckdb/", []string{"internal/duck"}, true, "internal/duck is the only door to the SQL engine"},
	{"C", []string{"internal/duck"}, true, "internal/duck is the only cgo"},
	{"internal/catalog/postgres", []string{"internal/app", "internal/cli"}, false, "others take catalog's contract"},
	{"internal/catalog/sqlite", []string{"internal/app"}, false, "others take catalog's contract"},
	{"internal/cluster/postgres", []string{"internal/app", "internal/cli"}, false, "others take cluster's contract"},
	{"internal/quota/postgres", []string{"internal/app"}, false, "others take share's contract"},
	{"internal/objstore/cloud", []string{"internal/app"}, false, "others take objstore's contract"},
	{"internal/objstore/faultstore", nil, false, "faults are for tests"},
	{"github.com/thanos-io/objstore/", []string{"internal/objstore"}, false, "others take objstore's contract"},
	{"internal/config", []string{"internal/app", "internal/cli"}, false, "packages take options, not settings"},
}

// valueLibraries lists the libraries that values may use beside the standard one.
var valueLibraries = map[string][]string{
	"internal/fault":  {"google.golang.org/grpc/codes"},
	"internal/signal": {"github.com/apache/arrow-go/"},
}

func TestImportDirections(t *testing.T) {
	t.Parallel()
	for _, f := range goFiles(t) {
		from := layerOf(f.pkg)
		if from == nil {
			t.Errorf("%s: package %s stands in no layer: give it a place in internal/archtest/layers_test.go", f.path, f.pkg)
			continue
		}
		for _, imported := range f.imports {
			if why := refusal(f, from, imported); why != "" {
				t.Errorf("%s imports %s: %s", f.path, imported, why)
			}
		}
	}
}

func TestTheTableRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, imported, want string
	}{
		"a role and a role":          {"internal/router/a.go", "internal/intake", "roles may not import each other"},
		"upwards":                    {"internal/wal/a.go", "internal/ingest", "platform may not import engines"},
		"a product file and a kit":   {"internal/wal/a.go", "internal/testkit/pgtest", "only test code"},
		"a suite in a product file":  {"internal/wal/a.go", "internal/catalog/catalogtest", "only test code"},
		"the engine in a test":       {"internal/httpapi/a_test.go", "internal/duck", "half a minute"},
		"a library under a value":    {"internal/tenant/a.go", "github.com/jackc/pgx/v5", "standard library"},
		"settings below the top":     {"internal/querier/a.go", "internal/config", "options, not settings"},
		"a concrete catalog":         {"internal/compactor/a.go", "internal/catalog/sqlite", "catalog's contract"},
		"allowed: downwards":         {"internal/querier/a.go", "internal/duck", ""},
		"allowed: own subpackage":    {"internal/catalog/sqlite/a.go", "internal/catalog", ""},
		"allowed: a test and a kit":  {"internal/wal/a_test.go", "internal/testkit/pgtest", ""},
		"allowed: a listed peer":     {"internal/columnar/a.go", "internal/catalog", ""},
		"allowed: a value's library": {"internal/fault/a.go", "google.golang.org/grpc/codes", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := goFile{path: c.file, pkg: path.Dir(c.file)}
			got := refusal(f, layerOf(f.pkg), c.imported)
			if c.want == "" {
				require.Empty(t, got)
				return
			}
			require.Contains(t, got, c.want)
		})
	}
}

// refusal says why f may not import what it imports, or "" when it may. Paths inside the module are without the module's prefix.
func refusal(f goFile, from *layer, imported string) string {
	isTest := f.isTest() || from.name == "tests" || strings.HasSuffix(f.pkg, "test")
	for _, r := range restricted {
		if isTest && !r.tests || !matches(imported, r.pkg) {
			continue
		}
		if !slices.ContainsFunc(r.by, within(f.pkg)) && !within(f.pkg)(r.pkg) {
			return "only " + strings.Join(append(slices.Clip(r.by), "tests"), ", ") + " may: " + r.why
		}
	}
	to := layerOf(imported)
	switch {
	case isTest:
		return ""
	case to == nil:
		return libraryRefusal(f, from, imported)
	case to.name == "tests" || strings.HasSuffix(imported, "test"):
		return "only test code may import test code"
	case slices.Contains(from.imports, to.name), from == to && root(f.pkg, from) == root(imported, to):
		return "" // downwards, or inside one folder: a contract, its parts and its implementations
	case from != to:
		return from.name + " may not import " + to.name + ": " + from.why
	case slices.ContainsFunc(peers[root(f.pkg, from)], within(imported)):
		return ""
	default:
		return from.name + " may not import each other unless listed under peers: " + from.why
	}
}

// libraryRefusal judges an import from outside the module.
func libraryRefusal(f goFile, from *layer, imported string) string {
	standard := !strings.Contains(strings.SplitN(imported, "/", 2)[0], ".")
	if from.name != "values" || standard {
		return ""
	}
	for _, allowed := range valueLibraries[root(f.pkg, from)] {
		if matches(imported, allowed) {
			return ""
		}
	}
	return "values use the standard library alone, and what valueLibraries lists"
}

// layerOf returns the layer of a package of this module, nil for one from outside or without a place.
func layerOf(pkg string) *layer {
	for i := range layers {
		if slices.ContainsFunc(layers[i].packages, within(pkg)) {
			return &layers[i]
		}
	}
	return nil
}

// root returns the folder of l's table row that pkg lies in.
func root(pkg string, l *layer) string {
	i := slices.IndexFunc(l.packages, within(pkg))
	return l.packages[i]
}

// within returns a predicate: does pkg lie in, or is it, the folder?
func within(pkg string) func(folder string) bool {
	return func(folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }
}

// matches compares an import path with an exact package or, with a trailing slash, a folder of packages.
func matches(imported, pattern string) bool {
	if folder, ok := strings.CutSuffix(pattern, "/"); ok {
		return imported == folder || strings.HasPrefix(imported, pattern)
	}
	return imported == pattern
}
