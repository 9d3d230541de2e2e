package slot_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/cluster/slot"
)

// TestOfKey holds vectors that Redis' CLUSTER KEYSLOT, go-redis and its specification give.
func TestOfKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key  string
		want uint16
		why  string
	}{
		{"123456789", 12739, "check value, 0x31C3"},
		{"", 0, "formula"},
		{"foo", 12182, ""},
		{"bar", 5061, ""},
		{"hello", 866, ""},
		{"somekey", 11058, "documentation of CLUSTER KEYSLOT"},
		{"foo{hash_tag}", 2515, "documentation of CLUSTER KEYSLOT"},
		{"user1000", 3443, ""},
		{"{user1000}.following", 3443, "tag"},
		{"{user1000}.followers", 3443, "tag"},
		{"{}x", 10595, "empty pair: whole key"},
		{"{}{a}", 13650, "only the first pair counts"},
		{"foo{}{bar}", 8363, "only the first pair counts"},
		{"{}foo", 9500, ""},
		{"foo{}", 5542, ""},
		{"foo{{bar}}zap", 4015, "the tag is {bar"},
		{"{bar", 4015, ""},
		{"foo{bar}{zap}", 5061, "the first pair"},
		{"}", 12090, "no pair"},
		{"{", 4092, "no pair"},
		{"{}", 15257, "no usable pair"},
		{"}{", 12793, "no pair"},
		{"{{}}", 4092, "the tag is {"},
		{"{a", 10276, "unclosed"},
		{"a}b{c}", 7365, "a } before { is ignored"},
		{"c", 7365, ""},
		{"\x00", 0, "binary"},
		{"\xff", 7920, "binary"},
		{"\x00\x01\x02\xfe\xff", 14058, "binary"},
		{"\x53\x99\x86\x76\xe5\xd6\xf4\x4b\x8c\x25\xd7\xd7", 5463, "binary"},
		{"日志", 10008, "multibyte"},
		{"{组织}流", 4168, "multibyte tag"},
		{"acme/nginx", 7314, ""},
		{"acme/metrics/http", 10886, ""},
	} {
		require.Equal(t, c.want, slot.OfKey(c.key), "%q %s", c.key, c.why)
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ org, database, signal, stream, want string }{
		{"acme", "public", "logs", "nginx", "acme/logs/nginx"},
		{"acme", "public", "metrics", "http", "acme/metrics/http"},
		{"acme", "shop", "logs", "nginx", "acme/logs/shop.nginx"},
		{"acme", "public", "logs", "web{eu}1", "acme/logs/eu"},
		{"acme", "shop", "logs", "web{eu}1", "acme/logs/eu"},
		{"acme", "shop", "logs", "web{}1{eu}", "acme/logs/shop.web{}1{eu}"},
		{"acme", "public", "logs", "web{eu", "acme/logs/web{eu"},
		{"acme", "a{b}", "logs", "web", "acme/logs/b"},
	} {
		require.Equal(t, c.want, slot.Key(c.org, c.database, c.signal, c.stream))
	}
	require.Equal(t, uint16(10886), slot.Of("acme", "public", "metrics", "http"))
}

func TestTagsStayInTheirOrgAndSignal(t *testing.T) {
	t.Parallel()
	of := func(org, signal, stream string) uint16 { return slot.Of(org, slot.DefaultDatabase, signal, stream) }
	require.Equal(t, of("a", "logs", "x{t}"), of("a", "logs", "{t}y"))
	require.NotEqual(t, of("a", "logs", "x{t}"), of("b", "logs", "x{t}"))
	require.NotEqual(t, of("a", "logs", "x{t}"), of("a", "metrics", "x{t}"))
	require.Equal(t, slot.OfKey("{a/logs/t}"), of("a", "logs", "x{t}"), "redis-cli can check it")
}

func FuzzOf(f *testing.F) {
	f.Add("acme", "public", "nginx")
	f.Add("acme", "shop", "web{eu}1")
	f.Add("acme", "shop", "{}{")
	f.Fuzz(func(t *testing.T, org, database, stream string) {
		got := slot.Of(org, database, "logs", stream)
		require.Less(t, got, uint16(slot.Count))
		if tag, ok := slot.Tag(stream); ok && database == slot.DefaultDatabase {
			require.Equal(t, slot.Of(org, database, "logs", "{"+tag+"}"), got)
		}
	})
}
