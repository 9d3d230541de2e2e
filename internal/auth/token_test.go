package auth_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/auth"
	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/sqlite"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/tenant"
)

const testKey = "a key of some length"

// store counts the looks at a catalog and can fail.
type store struct {
	catalog.Catalog

	looks atomic.Int64
	down  atomic.Bool
}

func (s *store) Access(ctx context.Context, known int64) (catalog.AccessState, error) {
	s.looks.Add(1)
	if s.down.Load() {
		return catalog.AccessState{}, errors.New("down")
	}
	return s.Catalog.Access(ctx, known)
}

func newStore(t *testing.T) *store {
	t.Helper()
	c, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "catalog.db")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return &store{Catalog: c}
}

// system is a process that authenticates.
type system struct {
	t        *testing.T
	store    *store
	auth     *auth.Authenticator
	verifier *auth.Verifier
	registry *auth.Registry
	root     string // the first token, empty when another process made it
}

func newSystem(t *testing.T, s *store, pinned string) *system {
	t.Helper()
	c, err := auth.NewCipher(testKey)
	require.NoError(t, err)
	x := &system{t: t, store: s}
	x.verifier, err = auth.NewVerifier(t.Context(), auth.Options{
		Store: s, Cipher: c, PinnedSecret: pinned, Announce: func(token string) { x.root = token },
	})
	require.NoError(t, err)
	x.auth = auth.NewToken(x.verifier)
	x.registry = auth.NewRegistry(s, c, pinned, nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- x.verifier.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return x
}

func request(credential, org string) *http.Request {
	r := &http.Request{Header: http.Header{}, RemoteAddr: "127.0.0.1:1"}
	if credential != "" {
		r.Header.Set("Authorization", credential)
	}
	if org != "" {
		r.Header.Set(auth.OrgHeader, org)
	}
	return r
}

// outcome is the orgs that are answered for, or the kind of the error.
func (s *system) outcome(credential, org string, need auth.Right) string {
	s.t.Helper()
	p, err := s.auth.HTTP(request(credential, org), need)
	if err != nil {
		require.Empty(s.t, p.Orgs)
		return fault.KindOf(err).String()
	}
	return strings.Join(auth.Grant{Orgs: p.Orgs}.Names(), "|")
}

// becomes waits until reading with a credential has an outcome.
func (s *system) becomes(want, credential string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.outcome(credential, "", auth.Read) == want }, time.Minute, 50*time.Millisecond)
}

func (s *system) admin() auth.Principal {
	s.t.Helper()
	p, err := s.auth.Operator(request("Bearer "+s.root, ""))
	require.NoError(s.t, err)
	return p
}

func spec(orgs []string, rights ...string) auth.Spec {
	g, err := auth.ParseGrant(orgs)
	if err != nil {
		panic(err)
	}
	r, err := auth.ParseRight(rights)
	if err != nil {
		panic(err)
	}
	return auth.Spec{Grant: g, Rights: r}
}

func (s *system) create(orgs []string, rights ...string) string {
	s.t.Helper()
	text, _, err := s.registry.Create(s.t.Context(), s.admin(), spec(orgs, rights...))
	require.NoError(s.t, err)
	return text
}

func TestTheFirstTokenIsToldOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	first, second := newSystem(t, s, ""), newSystem(t, s, "")
	require.NotEmpty(t, first.root)
	require.Empty(t, second.root)
	require.Equal(t, "t1", second.outcome("Bearer "+first.root, "t1", auth.Write), "it is good everywhere")
	require.Equal(t, "unauthenticated", first.outcome("Bearer "+first.root, "", auth.Read), "of all orgs none is chosen")
	c, err := auth.NewCipher("another key of length")
	require.NoError(t, err)
	_, err = auth.NewVerifier(t.Context(), auth.Options{Store: s, Cipher: c})
	require.ErrorContains(t, err, "MS_CIPHER_KEY")
}

func TestTokens(t *testing.T) {
	t.Parallel()
	s := newSystem(t, newStore(t), "")
	both, reader, one := s.create([]string{"a", "b"}, "read", "write"), s.create([]string{"a"}, "read"), s.create([]string{"a"}, "admin")
	basic := func(token string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte("any:"+token)) }
	for name, c := range map[string]struct {
		credential, org string
		need            auth.Right
		want            string
	}{
		"bearer":                     {"Bearer " + both, "a", auth.Read, "a"},
		"bearer in lower case":       {"bearer   " + both, "b", auth.Write, "b"},
		"basic":                      {basic(both), "b", auth.Read, "b"},
		"several orgs are read":      {"Bearer " + both, "b|a", auth.Read, "a|b"},
		"several orgs are written":   {"Bearer " + both, "b|a", auth.Write, "invalid"},
		"one of several not granted": {"Bearer " + both, "a|c", auth.Read, "forbidden"},
		"not granted":                {"Bearer " + both, "c", auth.Read, "forbidden"},
		"none chosen":                {"Bearer " + both, "", auth.Read, "unauthenticated"},
		"the only one":               {"Bearer " + reader, "", auth.Read, "a"},
		"no right":                   {"Bearer " + reader, "", auth.Write, "forbidden"},
		"admin has the others":       {"Bearer " + one, "", auth.Write, "a"},
		"malformed header":           {"Bearer " + both, "a|", auth.Read, "invalid"},
		"a path":                     {"Bearer " + both, "../b", auth.Read, "invalid"},
		"nobody, malformed":          {"", "../b", auth.Read, "unauthenticated"},
		"nobody":                     {"", "a", auth.Read, "unauthenticated"},
		"empty":                      {"Bearer ", "a", auth.Read, "unauthenticated"},
		"no scheme":                  {both, "a", auth.Read, "unauthenticated"},
		"other scheme":               {"Digest " + both, "a", auth.Read, "unauthenticated"},
		"bad basic":                  {"Basic ???", "a", auth.Read, "unauthenticated"},
		"basic without password":     {"Basic " + base64.StdEncoding.EncodeToString([]byte(both)), "a", auth.Read, "unauthenticated"},
		"cut":                        {"Bearer " + both[:len(both)-1], "a", auth.Read, "unauthenticated"},
		"longer":                     {"Bearer " + both + "a", "a", auth.Read, "unauthenticated"},
		"the prefix of another":      {"Bearer " + reader[:17] + both[17:], "a", auth.Read, "unauthenticated"},
		"huge":                       {"Bearer ms_" + strings.Repeat("a", 1<<20), "a", auth.Read, "unauthenticated"},
		"upper case":                 {"Bearer " + strings.ToUpper(both), "a", auth.Read, "unauthenticated"},
	} {
		require.Equal(t, c.want, s.outcome(c.credential, c.org, c.need), name)
	}
	r := request("Bearer "+both, "a")
	r.Header.Add("Authorization", "Bearer "+both)
	_, err := s.auth.HTTP(r, auth.Read)
	require.True(t, fault.Is(err, fault.Unauthenticated), "two credentials")
}

func TestExpiryAndRevocation(t *testing.T) {
	t.Parallel()
	s := newSystem(t, newStore(t), "")
	x := spec([]string{"a"}, "read")
	x.Expires = time.Now().Add(1500 * time.Millisecond)
	short, _, err := s.registry.Create(t.Context(), s.admin(), x)
	require.NoError(t, err)
	require.Equal(t, "a", s.outcome("Bearer "+short, "", auth.Read))
	s.becomes("unauthenticated", "Bearer "+short)
	x.Expires = time.Now().Add(-time.Second)
	_, _, err = s.registry.Create(t.Context(), s.admin(), x)
	require.True(t, fault.Is(err, fault.Invalid))

	long := s.create([]string{"a"}, "read")
	require.Equal(t, "a", s.outcome("Bearer "+long, "", auth.Read), "a new token is good at once")
	require.NoError(t, s.registry.Revoke(t.Context(), s.admin(), long[3:16]))
	s.becomes("unauthenticated", "Bearer "+long)
	require.ErrorIs(t, s.registry.Revoke(t.Context(), s.admin(), long[3:16]), catalog.ErrNoToken)
}

// TestWhatIsRevokedHereEndsAtOnce revokes through a registry that tells the verifier beside it: no question of its own has to come first.
func TestWhatIsRevokedHereEndsAtOnce(t *testing.T) {
	t.Parallel()
	s := newSystem(t, newStore(t), "")
	s.registry.Tell(s.verifier)
	root := auth.Principal{Actor: "root", Rights: auth.Every, Grant: auth.Grant{All: true}}
	for range 20 {
		text, made, err := s.registry.Create(t.Context(), root, auth.Spec{Grant: auth.Grant{Orgs: []tenant.ID{"acme"}}, Rights: auth.Read})
		require.NoError(t, err)
		require.Equal(t, "acme", s.outcome("Bearer "+text, "", auth.Read))
		require.NoError(t, s.registry.Revoke(t.Context(), root, made.Prefix))
		require.Equal(t, fault.Unauthenticated.String(), s.outcome("Bearer "+text, "", auth.Read))
	}
}

func TestAnAdminActsWithinTheGrant(t *testing.T) {
	t.Parallel()
	s := newSystem(t, newStore(t), "")
	ofA := s.create([]string{"a"}, "admin")
	ofB := s.create([]string{"b"}, "read")
	by, err := s.auth.Administrator(request("Bearer "+ofA, ""))
	require.NoError(t, err)
	_, err = s.auth.Operator(request("Bearer "+ofA, ""))
	require.True(t, fault.Is(err, fault.Forbidden), "the system is for admins of every org")
	for _, orgs := range [][]string{{"b"}, {"a", "b"}, {"*"}} {
		_, _, err = s.registry.Create(t.Context(), by, spec(orgs, "read"))
		require.ErrorIs(t, err, auth.ErrForbidden)
		x := spec(orgs, "read")
		x.Expires = time.Now().Add(time.Hour)
		_, err = s.registry.Sign(t.Context(), by, x)
		require.ErrorIs(t, err, auth.ErrForbidden)
	}
	_, _, err = s.registry.Create(t.Context(), by, spec([]string{"a"}, "admin"))
	require.NoError(t, err)
	list, err := s.registry.List(t.Context(), by)
	require.NoError(t, err)
	require.Len(t, list, 2)
	for _, token := range list {
		require.Equal(t, []string{"a"}, token.Orgs)
		require.Empty(t, token.Hash)
	}
	require.ErrorIs(t, s.registry.Revoke(t.Context(), by, ofB[3:16]), catalog.ErrNoToken)
	require.ErrorIs(t, s.registry.Rotate(t.Context(), by, 0), auth.ErrForbidden)
	_, err = s.registry.Changes(t.Context(), by, 0, 10)
	require.ErrorIs(t, err, auth.ErrForbidden)
	reader, err := s.auth.HTTP(request("Bearer "+ofB, ""), auth.Read)
	require.NoError(t, err)
	_, err = s.registry.List(t.Context(), reader)
	require.ErrorIs(t, err, auth.ErrForbidden)
	_, err = s.auth.Administrator(request("Bearer "+ofB, ""))
	require.ErrorIs(t, err, auth.ErrForbidden)
	changes, err := s.registry.Changes(t.Context(), s.admin(), 0, 10)
	require.NoError(t, err)
	require.Len(t, changes, 3)
	require.Equal(t, "token.create", changes[0].Action)
	require.Equal(t, by.Actor, changes[0].Actor)
}

// TestGuessing sends wrong tokens from many clients at once: the catalog is not asked for each, and nothing is remembered of them.
func TestGuessing(t *testing.T) {
	t.Parallel()
	s := newSystem(t, newStore(t), "")
	good := s.create([]string{"a"}, "read")
	s.outcome("Bearer "+good, "", auth.Read)
	before, began := s.store.looks.Load(), time.Now()
	done := make(chan struct{})
	for i := range 200 {
		go func() {
			defer func() { done <- struct{}{} }()
			for range 3 {
				guess := fmt.Sprintf("Bearer ms_%013d_%s", i, good[17:])
				if got := s.outcome(guess, "", auth.Read); got != "unauthenticated" {
					t.Errorf("a guess: %s", got)
				}
			}
		}()
	}
	for range 200 {
		<-done
	}
	most := 10 + int64(time.Since(began)/(200*time.Millisecond))
	require.Less(t, s.store.looks.Load()-before, most, "600 guesses share the looks")
	require.Equal(t, "a", s.outcome("Bearer "+good, "", auth.Read))
}

func TestTheCatalogIsAway(t *testing.T) {
	t.Parallel()
	s := newSystem(t, newStore(t), "")
	good := s.create([]string{"a"}, "read")
	require.Equal(t, "a", s.outcome("Bearer "+good, "", auth.Read))
	s.store.down.Store(true)
	require.Equal(t, "a", s.outcome("Bearer "+good, "", auth.Read), "known tokens are believed")
	require.Equal(t, "unavailable", s.outcome("Bearer ms_aaaaaaaaaaaaa_"+good[17:], "", auth.Read), "of others nothing is known")
	require.Equal(t, "unauthenticated", s.outcome("Bearer "+good[:17]+strings.Repeat("a", len(good)-17), "", auth.Read))
}

func TestUsesAreWritten(t *testing.T) {
	t.Parallel()
	s := newSystem(t, newStore(t), "")
	used, unused := s.create([]string{"a"}, "read"), s.create([]string{"b"}, "read")
	require.Equal(t, "a", s.outcome("Bearer "+used, "", auth.Read))
	s.verifier.Touch(t.Context())
	list, err := s.registry.List(t.Context(), s.admin())
	require.NoError(t, err)
	for _, x := range list {
		if x.Prefix == used[3:16] {
			require.False(t, x.Used.IsZero())
		}
		if x.Prefix == unused[3:16] {
			require.True(t, x.Used.IsZero())
		}
	}
}

func TestWebTokens(t *testing.T) {
	t.Parallel()
	const pinned = "a secret that is pinned by the environment"
	s := newSystem(t, newStore(t), pinned)
	now := time.Now()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	sign := func(method jwt.SigningMethod, key any, claims jwt.MapClaims) string {
		text, err := jwt.NewWithClaims(method, claims).SignedString(key)
		require.NoError(t, err)
		return "Bearer " + text
	}
	hs := func(claims jwt.MapClaims) string { return sign(jwt.SigningMethodHS256, []byte(pinned), claims) }
	good := func(more jwt.MapClaims) jwt.MapClaims {
		c := jwt.MapClaims{"sub": "al\nice", "org": "a", "rights": []string{"read"}, "exp": now.Add(time.Hour).Unix()}
		for k, v := range more {
			c[k] = v
			if v == nil {
				delete(c, k)
			}
		}
		return c
	}
	p, err := s.auth.HTTP(request(hs(good(nil)), ""), auth.Read)
	require.NoError(t, err)
	require.Equal(t, "jwt alice", p.Actor)
	for name, c := range map[string]struct{ credential, want string }{
		"one org":         {hs(good(nil)), "a"},
		"a list":          {hs(good(jwt.MapClaims{"org": nil, "orgs": []string{"a"}, "rights": "read write"})), "a"},
		"clocks differ":   {hs(good(jwt.MapClaims{"exp": now.Add(-5 * time.Second).Unix()})), "a"},
		"another org":     {hs(good(jwt.MapClaims{"org": "b"})), "forbidden"},
		"expired":         {hs(good(jwt.MapClaims{"exp": now.Add(-time.Minute).Unix()})), "unauthenticated"},
		"no end":          {hs(good(jwt.MapClaims{"exp": nil})), "unauthenticated"},
		"not yet":         {hs(good(jwt.MapClaims{"nbf": now.Add(time.Minute).Unix()})), "unauthenticated"},
		"no rights":       {hs(good(jwt.MapClaims{"rights": nil})), "unauthenticated"},
		"unknown right":   {hs(good(jwt.MapClaims{"rights": "root"})), "unauthenticated"},
		"no org":          {hs(good(jwt.MapClaims{"org": nil})), "unauthenticated"},
		"a bad org":       {hs(good(jwt.MapClaims{"org": "../a"})), "unauthenticated"},
		"rights a number": {hs(good(jwt.MapClaims{"rights": 7})), "unauthenticated"},
		"another secret":  {sign(jwt.SigningMethodHS256, []byte("x"), good(nil)), "unauthenticated"},
		"none":            {sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, good(nil)), "unauthenticated"},
		"HS512":           {sign(jwt.SigningMethodHS512, []byte(pinned), good(nil)), "unauthenticated"},
		"RS256":           {sign(jwt.SigningMethodRS256, rsaKey, good(nil)), "unauthenticated"},
		"no signature":    {hs(good(nil))[:strings.LastIndex(hs(good(nil)), ".")+1], "unauthenticated"},
		"nonsense":        {"Bearer a.b.c", "unauthenticated"},
	} {
		require.Equal(t, c.want, s.outcome(c.credential, "a", auth.Read), name)
	}
	require.True(t, fault.Is(s.registry.Rotate(t.Context(), s.admin(), 0), fault.Conflict), "a pinned key is not rotated here")
}

func TestRotationWithGrace(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	s := newSystem(t, st, "")
	other := newSystem(t, st, "") // another router
	x := spec([]string{"a"}, "read")
	x.Name, x.Expires = "alice", time.Now().Add(time.Hour)
	sign := func() string {
		text, err := s.registry.Sign(t.Context(), s.admin(), x)
		require.NoError(t, err)
		return "Bearer " + text
	}
	first := sign()
	require.Equal(t, "a", other.outcome(first, "", auth.Read))
	require.NoError(t, s.registry.Rotate(t.Context(), s.admin(), time.Hour))
	second := sign()
	other.becomes("a", second)
	require.Equal(t, "a", other.outcome(first, "", auth.Read), "the old key verifies within the grace")
	require.NoError(t, s.registry.Rotate(t.Context(), s.admin(), 0))
	for _, old := range []string{first, second} {
		other.becomes("unauthenticated", old)
	}
	x.Expires = time.Time{}
	_, err := s.registry.Sign(t.Context(), s.admin(), x)
	require.True(t, fault.Is(err, fault.Invalid), "a web token has an end")
}

func TestMetadataOfACall(t *testing.T) {
	t.Parallel()
	s := newSystem(t, newStore(t), "")
	_, err := s.auth.GRPC(t.Context(), auth.Write)
	require.True(t, fault.Is(err, fault.Unauthenticated))
	p, err := auth.New(auth.ModeOpen).GRPC(t.Context(), auth.Write)
	require.NoError(t, err)
	require.Equal(t, tenant.Default, p.Org())
}
