package deploy_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/millstream/millstream/internal/config"
)

// Paths that every node answers without authentication.
const (
	pathReady   = "/api/v1/readyz"
	pathHealthy = "/api/v1/healthz"
	pathMetrics = "/metrics"
)

// nodeMemory stands for the memory of a container without a limit.
const nodeMemory = 4 << 30

// load returns the settings that a process with these variables has. They must be free of faults and of warnings.
func load(t *testing.T, env map[string]string, memory int64) *config.Config {
	t.Helper()
	environ := make([]string, 0, len(env))
	for name, value := range env {
		environ = append(environ, name+"="+value)
	}
	c, warnings, err := config.Load(config.Sources{Environ: environ, Machine: config.Machine{Host: "host", Cores: 2, Memory: memory}})
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Equal(t, config.AuthHeader, c.Auth.Mode)
	require.Equal(t, config.BackendS3, c.ObjectStore.Backend)
	return c
}

// reachable returns the ports of a node that other machines reach: those that its roles open beyond loopback.
func reachable(c *config.Config) []int {
	var ports []int
	for _, l := range []struct {
		at    config.Listener
		roles []config.Role
	}{
		{c.HTTP, []config.Role{config.Router, config.IntakeRole, config.QueryRole, config.CompactRole, config.AlertRole}},
		{c.OTLPHTTP, []config.Role{config.Router}},
		{c.OTLPGRPC, []config.Role{config.Router, config.IntakeRole}},
		{c.GRPC, []config.Role{config.IntakeRole, config.QueryRole}},
	} {
		if !l.at.IsLoopback() && slices.ContainsFunc(l.roles, c.Node.Has) {
			ports = append(ports, l.at.Port)
		}
	}
	slices.Sort(ports)
	return ports
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(text)
}

// decode reads all documents of a YAML file into values of type T. Keys that stand twice are errors.
func decode[T any](t *testing.T, text string) []T {
	t.Helper()
	var out []T
	d := yaml.NewDecoder(strings.NewReader(text))
	for {
		var v T
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		out = append(out, v)
	}
}

// commands returns the flags of every command of docs/cli.md; flags of a command hold for those below it.
func commands(t *testing.T) map[string][]string {
	t.Helper()
	out := make(map[string][]string)
	name, flag := "", regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[a-z-]+)`)
	for _, section := range strings.Split(read(t, "..", "docs", "cli.md"), "\n## ")[1:] {
		name, section, _ = strings.Cut(section, "\n")
		out[name] = []string{"--help"}
		for _, m := range flag.FindAllStringSubmatch(section, -1) {
			out[name] = append(out[name], m[1])
		}
	}
	require.Contains(t, out, "millstream cluster drain")
	return out
}

// checkCommand finds what is wrong with a command line of the program, "" for nothing.
func checkCommand(known map[string][]string, line string) string {
	words := strings.Fields(line)
	flags, n := slices.Clone(known[words[0]]), 1
	for ; n < len(words) && known[strings.Join(words[:n+1], " ")] != nil; n++ {
		flags = append(flags, known[strings.Join(words[:n+1], " ")]...)
	}
	command := strings.Join(words[:n], " ")
	if n < len(words) && regexp.MustCompile(`^[a-z]+$`).MatchString(words[n]) && hasCommandsBelow(known, command) {
		return command + " has no command " + words[n]
	}
	for _, w := range words[n:] {
		if name, _, _ := strings.Cut(w, "="); strings.HasPrefix(name, "--") && !slices.Contains(flags, name) {
			return command + " has no flag " + name
		}
	}
	return ""
}

func hasCommandsBelow(known map[string][]string, command string) bool {
	for name := range known {
		if strings.HasPrefix(name, command+" ") {
			return true
		}
	}
	return false
}

func TestCommandsAreTold(t *testing.T) {
	t.Parallel()
	known := commands(t)
	for line, want := range map[string]string{
		`millstream cluster drain "$MS_NODE_ID" --wait --timeout 300s`: "",
		"millstream cluster nodes --dsn=x -o json":                     "",
		"millstream cluster drain i1 --now":                            "millstream cluster drain has no flag --now",
		"millstream cluster evict i1":                                  "millstream cluster has no command evict",
	} {
		require.Equal(t, want, checkCommand(known, line), line)
	}
}

// variable is a name of a setting in the environment.
var variable = regexp.MustCompile(`\bMS_[A-Z0-9]+(?:_[A-Z0-9]+)*\b`)

// variables returns the names of settings that the configuration has.
func variables(t *testing.T) []string {
	t.Helper()
	var reference bytes.Buffer
	require.NoError(t, config.WriteReference(&reference))
	return variable.FindAllString(reference.String(), -1)
}

// files returns every file of this folder that is no Go code, and the pages about it.
func files(t *testing.T) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for _, root := range []string{".", filepath.Join("..", "docs", "operate")} {
		require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && filepath.Ext(path) != ".go" {
				out[path] = read(t, path)
			}
			return err
		}))
	}
	require.Greater(t, len(out), 15)
	return out
}

func TestVariablesExist(t *testing.T) {
	t.Parallel()
	known := variables(t)
	require.Contains(t, known, "MS_NODE_ROLES")
	for path, text := range files(t) {
		for _, name := range variable.FindAllString(text, -1) {
			if !slices.Contains(known, strings.TrimSuffix(name, "_FILE")) {
				t.Errorf("%s: %s is in no row of docs/config.md", path, name)
			}
		}
	}
}

// merge returns the union of maps; later ones go first.
func merge(all ...map[string]string) map[string]string {
	out := make(map[string]string)
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}
