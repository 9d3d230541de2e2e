package auth_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/auth"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/tenant"
)

func TestAuthenticator(t *testing.T) {
	t.Parallel()
	ask := func(mode auth.Mode, values ...string) string {
		h := http.Header{}
		for _, v := range values {
			h.Add(auth.OrgHeader, v)
		}
		p, err := auth.New(mode).HTTP(&http.Request{Header: h}, auth.Write)
		if err != nil {
			return fault.KindOf(err).String()
		}
		require.Len(t, p.Orgs, 1)
		return string(p.Org())
	}
	require.Equal(t, "default", ask(auth.ModeOpen))
	require.Equal(t, "t1", ask(auth.ModeOpen, "t1"))
	require.Equal(t, "unauthenticated", ask(auth.ModeHeader))
	require.Equal(t, "unauthenticated", ask(auth.ModeHeader, ""))
	require.Equal(t, "t1", ask(auth.ModeHeader, "t1"))
	for _, bad := range []string{"..", ".", "../t2", "t1/../t2", "t1|t2", "a|", "t1:k=v", "%2e%2e", "t\x00", strings.Repeat("a", 151)} {
		require.Equal(t, "invalid", ask(auth.ModeHeader, bad), bad)
	}
	require.Equal(t, "invalid", ask(auth.ModeHeader, "t1", "t2"))
}

func TestSeveralOrgsAreForReading(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	h.Set(auth.OrgHeader, "b|a|b")
	p, err := auth.New(auth.ModeHeader).HTTP(&http.Request{Header: h}, auth.Read)
	require.NoError(t, err)
	require.Equal(t, []tenant.ID{"a", "b"}, p.Orgs)
	_, err = auth.New(auth.ModeHeader).HTTP(&http.Request{Header: h}, auth.Write)
	require.True(t, fault.Is(err, fault.Invalid))
	require.NotContains(t, fault.Message(err), "a|", "a refusal repeats nothing")
}

func TestOperatorsOfModesWithoutCredentials(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"127.0.0.1:5": true, "[::1]:5": true, "10.0.0.1:5": false, "nonsense": false, "": false, "localhost:5": false,
	} {
		_, err := auth.New(auth.ModeOpen).Operator(&http.Request{RemoteAddr: address})
		require.Equal(t, !ok, fault.Is(err, fault.Forbidden), address)
	}
}

func TestRights(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		names []string
		want  auth.Right
	}{
		{[]string{"read"}, auth.Read}, {[]string{"write", "read"}, auth.Read | auth.Write}, {[]string{"admin"}, auth.Every},
	} {
		r, err := auth.ParseRight(c.names)
		require.NoError(t, err)
		require.Equal(t, c.want, r)
		again, err := auth.ParseRight(r.Names())
		require.NoError(t, err)
		require.Equal(t, r, again)
	}
	for _, bad := range [][]string{nil, {""}, {"Read"}, {"read", "all"}} {
		_, err := auth.ParseRight(bad)
		require.True(t, fault.Is(err, fault.Invalid), bad)
	}
	require.False(t, auth.Write.Has(auth.Read), "a right is needed by itself")
}

func TestGrants(t *testing.T) {
	t.Parallel()
	grant := func(orgs ...string) auth.Grant {
		g, err := auth.ParseGrant(orgs)
		require.NoError(t, err)
		return g
	}
	require.True(t, grant("*").Covers(grant("a")))
	require.True(t, grant("*").Covers(grant("*")))
	require.True(t, grant("b", "a", "b").Covers(grant("a")))
	require.False(t, grant("a").Covers(grant("*")))
	require.False(t, grant("a").Covers(grant("a", "b")))
	require.Equal(t, []string{"a", "b"}, grant("b", "a", "b").Names())
	for _, bad := range [][]string{nil, {""}, {"*", "a"}, {"a|b"}, {".."}, make([]string, tenant.MaxIDs+1)} {
		_, err := auth.ParseGrant(bad)
		require.True(t, fault.Is(err, fault.Invalid), bad)
	}
}
