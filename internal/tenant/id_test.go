package tenant_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/tenant"
)

func TestParseID(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"t1", "a", "A-b_c.d*e'f(g)h!", "...", "*", strings.Repeat("x", tenant.MaxIDBytes)} {
		id, err := tenant.ParseID(good)
		require.NoError(t, err, good)
		require.Equal(t, tenant.ID(good), id)
	}
	for _, bad := range []string{
		".", "..", "../t2", "t1/t2", "t1|t2", "a|", "t1:k=v", "%2e", "ä", "a b", "t\x00", "a\n", strings.Repeat("x", tenant.MaxIDBytes+1),
	} {
		_, err := tenant.ParseID(bad)
		require.True(t, fault.Is(err, fault.Invalid), bad)
	}
	_, err := tenant.ParseID("")
	require.ErrorIs(t, err, tenant.ErrNoOrg)
	require.Equal(t, "no org id", fault.Message(err))
}

func TestParseIDs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]tenant.ID{
		"a": {"a"}, "b|a": {"a", "b"}, "a|a": {"a"}, "b|a|b|*": {"*", "a", "b"},
	} {
		ids, err := tenant.ParseIDs(text)
		require.NoError(t, err, text)
		require.Equal(t, want, ids, text)
	}
	for _, bad := range []string{"a|", "|a", "|", "a||b", "a|..", "a|b/c", "a:k=v|b", strings.Repeat("a|", tenant.MaxIDs) + "a"} {
		_, err := tenant.ParseIDs(bad)
		require.True(t, fault.Is(err, fault.Invalid), bad)
	}
	_, err := tenant.ParseIDs("")
	require.ErrorIs(t, err, tenant.ErrNoOrg)
}
