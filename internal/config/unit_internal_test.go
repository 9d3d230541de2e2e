package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVariablesAreDistinct(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, k := range newConfig().keys {
		require.Empty(t, seen[k.env()], "%s and %s share a variable", k.path, seen[k.env()])
		seen[k.env()] = k.path
		require.NotEmpty(t, k.doc)
		require.NotEmpty(t, k.kind)
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"roles", "role", 1}, {"kitten", "sitting", 3}} {
		require.Equal(t, c.want, distance(c.a, c.b), "%s %s", c.a, c.b)
		require.Equal(t, c.want, distance(c.b, c.a), "%s %s", c.b, c.a)
	}
}

// FuzzSources looks for texts that make reading panic, or settings that are accepted but not checked.
func FuzzSources(f *testing.F) {
	f.Add("[node]\nroles = [\"router\"]\n", "MS_NODE_ID", "a")
	f.Add("a.b.c = {d = [{e = 1}]}\n[[node]]\nx=1", "MS_NODE_ROLES", "[\"a\", 1]")
	f.Add("log = {level = \"info\"}\n'node.id' = 1", "MS_QUERIER_MEMORY_LIMIT", "1GiB")
	f.Fuzz(func(t *testing.T, text, name, value string) {
		c := newConfig()
		faults := c.readFile("f", []byte(text))
		more, _ := c.readEnv([]string{name + "=" + value})
		if len(faults)+len(more) > 0 {
			return
		}
		if c.Node.DataDir == "" {
			c.Node.DataDir = "x"
		}
		for _, k := range c.keys {
			require.NotEmpty(t, k.show(), k.path)
		}
		_ = c.derive(Sources{Machine: Machine{Host: "h", Cores: 1, Memory: 1 << 30}})
		_ = c.check()
		_ = c.warn()
	})
}
