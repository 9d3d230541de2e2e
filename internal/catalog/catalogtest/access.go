package catalogtest

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
)

func accessCases() []testCase {
	return []testCase{
		{"the first of many establishes", establishOnce},
		{"make, list, use and revoke tokens", tokens},
		{"a secret is replaced by compare and set", replaceSecret},
		{"the version rises with what it is of", accessVersion},
		{"the audit log", changes},
		{"a change that several tell of", changesOnce},
	}
}

func token(prefix string) catalog.Token {
	return catalog.Token{
		Prefix: prefix, Hash: []byte{0, 1, 0xff}, Name: "o'brien\x00\xff", Orgs: []string{"*"}, Rights: []string{"read", "write"},
		CreatedBy: "me", Expires: time.Unix(2_000_000_000, 5000).UTC(),
	}
}

func (f *fixture) access() catalog.AccessState {
	f.t.Helper()
	s, err := f.Access(f.ctx, -1)
	require.NoError(f.t, err)
	require.False(f.t, s.Unchanged)
	return s
}

func establishOnce(f *fixture) {
	require.Empty(f.t, f.access().Secret)
	var failed atomic.Int64
	together(8, func(i int) {
		err := f.EstablishAccess(f.ctx, []byte{0, byte(i), 0xff}, token(fmt.Sprintf("p%d", i)))
		if err != nil {
			failed.Add(1)
		}
	})
	require.Zero(f.t, failed.Load())
	s := f.access()
	require.Len(f.t, s.Tokens, 1, "nothing of the losers is stored")
	require.Equal(f.t, fmt.Sprintf("p%d", s.Secret[1]), s.Tokens[0].Prefix, "secret and token are of one winner")
}

func tokens(f *fixture) {
	require.NoError(f.t, f.CreateToken(f.ctx, token("b")))
	plain := token("a")
	plain.Expires, plain.Name, plain.Orgs = time.Time{}, "", []string{"t1", "t2"}
	require.NoError(f.t, f.CreateToken(f.ctx, plain))
	require.ErrorIs(f.t, f.CreateToken(f.ctx, token("a")), catalog.ErrTokenExists)

	got := f.access().Tokens
	require.Len(f.t, got, 2)
	for i := range got {
		require.False(f.t, got[i].Created.IsZero())
		got[i].Created = time.Time{}
	}
	want := token("b")
	want.Name = "o'brien\uFFFD\uFFFD"
	require.Equal(f.t, []catalog.Token{plain, want}, got, "by prefix")

	at := time.Unix(1_800_000_000, 0).UTC()
	require.NoError(f.t, f.TouchTokens(f.ctx, nil))
	require.NoError(f.t, f.TouchTokens(f.ctx, map[string]time.Time{"a": at, "gone": at}))
	require.NoError(f.t, f.TouchTokens(f.ctx, map[string]time.Time{"a": at.Add(-time.Second), "b": at.Add(time.Second)}))
	got = f.access().Tokens
	require.Equal(f.t, at, got[0].Used, "an earlier use does not count")
	require.Equal(f.t, at.Add(time.Second), got[1].Used)

	require.NoError(f.t, f.RevokeToken(f.ctx, "a"))
	for _, gone := range []string{"a", "", "x\x00", "' OR true --"} {
		require.ErrorIs(f.t, f.RevokeToken(f.ctx, gone), catalog.ErrNoToken, gone)
	}
	require.Len(f.t, f.access().Tokens, 1)
}

func replaceSecret(f *fixture) {
	require.ErrorIs(f.t, f.ReplaceSecret(f.ctx, []byte("none"), []byte("x")), catalog.ErrSecretChanged)
	require.NoError(f.t, f.EstablishAccess(f.ctx, []byte("one"), token("a")))
	var done atomic.Int64
	together(6, func(i int) {
		if f.ReplaceSecret(f.ctx, []byte("one"), fmt.Appendf(nil, "two %d", i)) == nil {
			done.Add(1)
		}
	})
	require.Equal(f.t, int64(1), done.Load())
	require.Contains(f.t, string(f.access().Secret), "two")
}

func accessVersion(f *fixture) {
	var last int64
	step := func(name string, rises bool, err error) {
		f.t.Helper()
		require.NoError(f.t, err)
		s, err := f.Access(f.ctx, last)
		require.NoError(f.t, err)
		require.Equal(f.t, !rises, s.Unchanged, name)
		require.Equal(f.t, rises, s.Version > last, name)
		require.Equal(f.t, rises, s.Secret != nil, name)
		last = s.Version
	}
	step("establish", true, f.EstablishAccess(f.ctx, []byte("one"), token("a")))
	step("nothing", false, nil)
	step("establish again", false, f.EstablishAccess(f.ctx, []byte("two"), token("b")))
	step("create", true, f.CreateToken(f.ctx, token("c")))
	step("touch", false, f.TouchTokens(f.ctx, map[string]time.Time{"c": time.Unix(1_900_000_000, 0)}))
	step("replace", true, f.ReplaceSecret(f.ctx, []byte("one"), []byte("two")))
	step("revoke", true, f.RevokeToken(f.ctx, "c"))
	step("record", false, f.RecordChange(f.ctx, catalog.Change{Action: "x"}))
}

func changes(f *fixture) {
	for i := range 5 {
		require.NoError(f.t, f.RecordChange(f.ctx, catalog.Change{
			Actor: "token a", Action: "token.create", Org: "o'ther(*)", Object: strconv.Itoa(i), Detail: "NUL \x00",
		}))
	}
	all, err := f.Changes(f.ctx, 0, 10)
	require.NoError(f.t, err)
	require.Len(f.t, all, 5)
	for i, c := range all {
		require.Equal(f.t, strconv.Itoa(4-i), c.Object, "the newest first")
		require.False(f.t, c.At.IsZero())
		require.Equal(f.t, "NUL \uFFFD", c.Detail)
		require.Equal(f.t, "o'ther(*)", c.Org)
	}
	page, err := f.Changes(f.ctx, all[1].ID, 2)
	require.NoError(f.t, err)
	require.Equal(f.t, all[2:4], page)
}

// changesOnce has several processes tell of the same changes in the same order: each change is recorded once, a repeated one again.
func changesOnce(f *fixture) {
	none, err := f.LastChange(f.ctx, "o")
	require.NoError(f.t, err)
	require.Zero(f.t, none)
	require.NoError(f.t, f.RecordChange(f.ctx, catalog.Change{Action: "x", Object: "other"}))
	details := []string{"a to b", "b to a", "a to b", "NUL \x00"}
	together(6, func(i int) {
		after := int64(0)
		for _, detail := range details {
			id, err := f.RecordChangeOnce(f.ctx, catalog.Change{Actor: strconv.Itoa(i), Action: "x", Object: "o", Detail: detail}, after)
			if err != nil || id <= after {
				f.t.Errorf("record %d after %d: %v", id, after, err)
				return
			}
			after = id
		}
	})
	all, err := f.Changes(f.ctx, 0, 100)
	require.NoError(f.t, err)
	var got []string
	for _, c := range all[:len(all)-1] {
		got = append(got, c.Detail)
	}
	require.Equal(f.t, []string{"NUL \uFFFD", "a to b", "b to a", "a to b"}, got, "the newest first")
	last, err := f.LastChange(f.ctx, "o")
	require.NoError(f.t, err)
	require.Equal(f.t, all[0], last)
}
