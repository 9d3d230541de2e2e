package main

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clockTick is the unit of CPU times in /proc: USER_HZ, 100 on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// cpuTime returns the user and system time that a process has used so far.
func cpuTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	return parseStat(string(text))
}

// parseStat reads fields 14 and 15 of proc_pid_stat(5). The program's name, field 2, may hold spaces and parentheses.
func parseStat(text string) (time.Duration, error) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("read CPU time: %q is cut off", text)
	}
	var ticks time.Duration
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read CPU time: %w", err)
		}
		ticks += time.Duration(n)
	}
	return ticks * clockTick, nil
}

// peakMemory returns the largest resident set that a process has had, in bytes.
func peakMemory(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read peak memory: %w", err)
	}
	return parseStatus(string(text))
}

// parseStatus reads VmHWM of proc_pid_status(5), given in kB that are KiB.
func parseStatus(text string) (int64, error) {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("read peak memory: no VmHWM")
}

// diskUsage returns the bytes that all files below dir occupy.
func diskUsage(dir string) (int64, error) {
	const blockSize = 512 // of Stat_t.Blocks, whatever the file system's is
	var total int64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			total += stat.Blocks * blockSize
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("measure the data folder: %w", err)
	}
	return total, nil
}

// samples are the values of a metrics page by series, as name{labels}.
type samples map[string]float64

// readSamples reads the text format of Prometheus; histograms and comments are of no interest and skipped or kept as they come.
func readSamples(r io.Reader) (samples, error) {
	m := samples{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		series, value, ok := cutLast(lines.Text(), ' ')
		if !ok || strings.HasPrefix(series, "#") {
			continue
		}
		f, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("read the value of %s: %w", series, err)
		}
		m[series] = f
	}
	return m, lines.Err()
}

func cutLast(s string, sep byte) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// sum adds the series of a name that carry all the labels, each as name="value".
func (m samples) sum(name string, labels ...string) float64 {
	var total float64
	for series, v := range m {
		metric, set, _ := strings.Cut(series, "{")
		if metric == name && !slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(set, l) }) {
			total += v
		}
	}
	return total
}

// median returns the middle value, the mean of the middle two for an even number. There must be one.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// quantile returns the smallest value that at least the fraction q of the values do not exceed. There must be one.
func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	rank := int(q*float64(len(sorted))+0.999999) - 1
	return sorted[min(max(rank, 0), len(sorted)-1)]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
