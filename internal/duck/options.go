package duck

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/millstream/millstream/internal/tenant"
)

// Options sets up a Pool.
type Options struct {
	// Concurrency is how many instances are in use at once; further Acquire calls wait, first come first served. Required, at least 1.
	Concurrency int
	// WarmInstances is how many idle instances are kept open, over all orgs (about 3 MB each). 0 keeps none.
	WarmInstances int
	// MemoryLimit is the memory of all running statements together, in bytes; an instance gets MemoryLimit/Concurrency, and at least
	// MinInstanceMemory. Required.
	MemoryLimit int64
	// TempDir is where instances spill, each into a directory of its own below it. Leftovers of an earlier process are removed by
	// NewPool, so it belongs to one pool alone. Required, absolute.
	TempDir string
	// TempMaxSize bounds the spilled bytes of all running statements together; an instance gets TempMaxSize/Concurrency. 0 forbids spilling.
	TempMaxSize int64
	// Threads is the number of threads of one instance. 0 means one for each CPU, divided by Concurrency, at least 1.
	Threads int
	// DataDirs returns the absolute directories whose files the statements of org may read, below which everything belongs to org. A
	// statement of several orgs may read those of each. Nil means none.
	DataDirs func(org tenant.ID) []string
}

// MinInstanceMemory is the least memory limit of an instance, in bytes; below it even small statements fail.
const MinInstanceMemory = 16 << 20

// Validate reports every fault of o at once.
func (o Options) Validate() error {
	var errs []error
	if o.Concurrency < 1 {
		errs = append(errs, errors.New("concurrency: must be at least 1"))
	}
	if o.WarmInstances < 0 {
		errs = append(errs, errors.New("warm instances: must not be negative"))
	}
	if o.MemoryLimit <= 0 {
		errs = append(errs, errors.New("memory limit: must be positive"))
	}
	if o.TempMaxSize < 0 {
		errs = append(errs, errors.New("temp size: must not be negative"))
	}
	if !filepath.IsAbs(o.TempDir) {
		errs = append(errs, fmt.Errorf("temp directory %q: must be absolute", o.TempDir))
	}
	return errors.Join(errs...)
}

func (o Options) instanceMemory() int64 {
	return max(o.MemoryLimit/int64(o.Concurrency), MinInstanceMemory)
}

func (o Options) instanceTemp() int64 { return o.TempMaxSize / int64(o.Concurrency) }

func (o Options) instanceThreads() int {
	if o.Threads > 0 {
		return o.Threads
	}
	return max(runtime.GOMAXPROCS(0)/o.Concurrency, 1)
}

func (o Options) dataDirs(orgs []tenant.ID) []string {
	if o.DataDirs == nil {
		return nil
	}
	var dirs []string
	for _, org := range orgs {
		dirs = append(dirs, o.DataDirs(org)...)
	}
	return dirs
}

// PatternPath writes a path of a file so that DuckDB, which takes paths for patterns, finds that file alone: an org's id may contain a
// star.
func PatternPath(path string) string {
	return strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(path)
}

// quote returns s as a SQL string literal.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// quoteIdent returns s as a SQL identifier.
func quoteIdent(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
