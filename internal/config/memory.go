package config

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
)

const (
	minQueryMemory = 32 * mib  // of the SQL engine for one query; below, even small ones spill or fail
	goBase         = 256 * mib // what Go code needs beside buffers and merges: decoders, log groups, catalog, results
	reserveShare   = 10        // a tenth stays free for the engine's and the allocators' overhead, stacks and page tables
)

// Machine is what a process finds itself on.
type Machine struct {
	Host   string
	Cores  int   // that the process may use
	Memory int64 // bytes of the container, else of the machine; 0 = unknown
}

// DetectMachine looks at the host's name, the cores, the cgroup and the memory.
func DetectMachine() Machine {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	memory := readMeminfo("/proc/meminfo")
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if limit := readNumber(file); limit > 0 && (memory == 0 || limit < memory) {
			memory = limit
		}
	}
	return Machine{Host: host, Cores: runtime.GOMAXPROCS(0), Memory: memory}
}

// readNumber returns the number in a file, 0 when there is none, as in "max".
func readNumber(path string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// readMeminfo returns the machine's memory in bytes, 0 when the file does not tell.
func readMeminfo(path string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		if len(fields) == 3 && fields[0] == "MemTotal:" {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				return 0
			}
			return n * kib
		}
	}
	return 0
}

// Memory is how a process divides memory, in bytes. The SQL engine allocates outside Go and is bounded by its own limits.
type Memory struct {
	Machine int64 // of the container or machine; 0 = unknown
	Engine  int64 // the SQL engine: querier.memory_limit, if the role is on
	Buffers int64 // intake.buffer_memory_max, when rows are taken
	Merges  int64 // compactor.memory_limit, if the role is on
	Samples int64 // querier.metrics_cache_size, if the role is on
	Base    int64 // what Go code needs beside all of these
	// GoLimit is for debug.SetMemoryLimit: what the engine does not get, less a reserve. 0: leave the limit alone, because the
	// memory is unknown or GOMEMLIMIT is set.
	GoLimit int64
}

// Sum returns the memory that the process may need by its settings.
func (m Memory) Sum() int64 { return m.Engine + m.Buffers + m.Merges + m.Samples + m.Base }

func (c *Config) divideMemory(machine Machine, limitIsSet bool) Memory {
	m := Memory{Machine: machine.Memory, Base: goBase}
	if c.Node.Has(QueryRole) {
		m.Engine, m.Samples = c.Querier.MemoryLimit, c.Querier.MetricsCache
	}
	if c.Node.Has(IntakeRole) {
		m.Buffers = c.Intake.BufferMemoryMax
	}
	if c.Node.Has(CompactRole) {
		m.Merges = c.Compactor.MemoryLimit
	}
	if machine.Memory > 0 && !limitIsSet {
		free := machine.Memory - m.Engine - machine.Memory/reserveShare
		m.GoLimit = max(free, m.Sum()-m.Engine) // a limit below what is needed would only burn time in the collector
	}
	return m
}
