package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millstream/millstream/internal/fault"
)

// Sources is what Load reads.
type Sources struct {
	// Path is the TOML file; "" reads none.
	Path string
	// Environ is the environment as from os.Environ. Only variables that begin with MS_ and GOMEMLIMIT are looked at.
	Environ []string
	// Machine is what defaults are derived from; DetectMachine looks.
	Machine Machine
}

// FromProcess returns the sources of a program that was started with --config path ("" without).
func FromProcess(path string) Sources {
	return Sources{Path: path, Environ: os.Environ(), Machine: DetectMachine()}
}

// Fault is one thing wrong with the settings.
type Fault struct {
	Where   string // "millstream.toml:12:1", "MS_NODE_ROLES", or the key's path
	Message string
}

// String returns the fault as one line.
func (f Fault) String() string { return f.Where + ": " + f.Message }

// Faults is everything that is wrong, in the order of the sources and then of the reference.
type Faults []Fault

// Error returns a line for each fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, one := range f {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

func (f *Faults) add(where, format string, args ...any) {
	*f = append(*f, Fault{where, fmt.Sprintf(format, args...)})
}

// Warning is something that works but is probably not meant.
type Warning struct {
	Where   string // as in Fault
	Message string
}

// String returns the warning as one line.
func (w Warning) String() string { return w.Where + ": " + w.Message }

// Load reads the settings. On error there is no Config; the error is of kind fault.Invalid and has Faults in its chain. Warnings
// are returned in both cases.
func Load(src Sources) (*Config, []Warning, error) {
	c := newConfig()
	var faults Faults
	if src.Path != "" {
		text, err := os.ReadFile(src.Path)
		if err != nil {
			faults.add(src.Path, "cannot be read: %v", err)
		} else {
			faults = append(faults, c.readFile(filepath.Base(src.Path), text)...)
		}
	}
	more, warnings := c.readEnv(src.Environ)
	faults = append(faults, more...)
	if len(faults) == 0 { // else checks would judge defaults that were meant to be something else
		faults = append(faults, c.derive(src)...)
		faults = append(faults, c.check()...)
		warnings = append(warnings, c.warn()...)
	}
	if len(faults) > 0 {
		return nil, warnings, fault.Wrap(fault.Invalid, faults, "the settings have %d faults", len(faults))
	}
	return c, warnings, nil
}

// derive fills in what defaults to something of the machine or of another key, and makes paths absolute.
func (c *Config) derive(src Sources) (faults Faults) {
	if c.Node.ID == "" {
		c.Node.ID = src.Machine.Host
	}
	absolute := func(path *string, key, fallback string) {
		if *path == "" {
			*path = fallback
		}
		abs, err := filepath.Abs(*path)
		if err != nil {
			faults.add(key, "cannot be made absolute: %v", err)
			return
		}
		*path = abs
	}
	absolute(&c.Node.DataDir, "node.data_dir", "./data")
	absolute(&c.WAL.Dir, "wal.dir", filepath.Join(c.Node.DataDir, "wal"))
	absolute(&c.Cache.Dir, "cache.dir", filepath.Join(c.Node.DataDir, "cache"))
	if c.ObjectStore.Backend == BackendLocal {
		absolute(&c.ObjectStore.Root, "object_store.root", filepath.Join(c.Node.DataDir, "objects"))
	}
	if c.Overrides.File != "" {
		absolute(&c.Overrides.File, "overrides.file", "")
	}
	if c.Cluster.AdvertiseAddr == "" {
		c.Cluster.AdvertiseAddr = c.GRPC.Addr()
	}
	if c.Querier.Concurrency == 0 {
		c.Querier.Concurrency = max(src.Machine.Cores, 2)
	}
	if c.Querier.MemoryLimit == 0 {
		c.Querier.MemoryLimit = max(src.Machine.Memory/4/mib*mib, minQueryMemory*int64(c.Querier.Concurrency))
	}
	c.Memory = c.divideMemory(src.Machine, slices.ContainsFunc(src.Environ, isMemoryLimit))
	return faults
}

// isMemoryLimit reports whether a variable sets Go's own memory limit.
func isMemoryLimit(variable string) bool { return strings.HasPrefix(variable, "GOMEMLIMIT=") }
