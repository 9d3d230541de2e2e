package auth

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
)

const (
	refreshEvery = time.Second            // how often the catalog is asked for changes: a revoked token ends within it
	refreshLeast = 200 * time.Millisecond // between two refreshes whatever is asked for
	missPatience = 2 * time.Second        // how long an unknown token waits for a refresh
	touchEvery   = time.Minute            // how often uses are written
	// staleAfter is how long tokens are believed while the catalog cannot be asked.
	staleAfter = 10 * time.Minute
)

// errUnauthenticated is the answer to every credential that is missing, malformed, unknown, wrong, expired or revoked.
var errUnauthenticated = fault.New(fault.Unauthenticated, "a valid token is needed (Authorization: Bearer ms_…)")

// Options are the collaborators of a Verifier. All are required but those that say otherwise.
type Options struct {
	Store  catalog.Access
	Cipher *Cipher
	// PinnedSecret signs and verifies web tokens instead of the keys in the catalog; empty = those.
	PinnedSecret string
	// Announce is given the first token when this process made it: it is told nowhere else.
	Announce   func(token string)
	Clock      clock.Clock           // nil: the system's
	Logger     *slog.Logger          // nil: discard
	Registerer prometheus.Registerer // nil: no metrics
}

// Verifier knows all tokens and signing keys, as of a moment ago. Requests are judged in memory: a wrong token costs no look at the
// catalog of its own, and memory is bounded by catalog.MaxTokens whatever is sent. Safe for concurrent use.
type Verifier struct {
	opts     Options
	failures prometheus.Counter
	kick     chan struct{}

	refreshing sync.Mutex // one refresh at a time, so that an older state never takes the place of a newer one

	mu    sync.Mutex
	state *state
	begun uint64        // refreshes
	ended uint64        // the last refresh that has ended
	err   error         // of that one
	next  chan struct{} // closed when a refresh ends
}

// state is what one refresh found. It is not changed, but for the uses.
type state struct {
	at      time.Time
	version int64
	tokens  map[string]*knownToken
	ring    keyring
}

type knownToken struct {
	hash      []byte
	principal Principal
	expires   time.Time
	used      atomic.Int64 // microseconds since 1970, 0 = not since it was written last
}

// NewVerifier makes the signing key and the first token if the catalog has none, and reads all. Run keeps it up to date.
func NewVerifier(ctx context.Context, o Options) (*Verifier, error) {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	v := &Verifier{opts: o, kick: make(chan struct{}, 1), next: make(chan struct{})}
	v.failures = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "millstream_auth_refresh_failures_total", Help: "Times that tokens could not be read from the catalog.",
	})
	if o.Registerer != nil {
		o.Registerer.MustRegister(v.failures)
	}
	if err := v.establish(ctx); err != nil {
		return nil, err
	}
	err := v.refresh(ctx)
	return v, err
}

// establish stores signing key and first token unless some process has.
func (v *Verifier) establish(ctx context.Context) error {
	if s, err := v.opts.Store.Access(ctx, -1); err != nil || s.Secret != nil {
		return err
	}
	sealed, err := keyring{Keys: []signingKey{newSigningKey()}}.seal(v.opts.Cipher)
	if err != nil {
		return err
	}
	text, prefix, hash := newToken()
	first := catalog.Token{
		Prefix: prefix, Hash: hash, Name: "first admin", Orgs: Grant{All: true}.Names(), Rights: Every.Names(), CreatedBy: "first start",
	}
	err = v.opts.Store.EstablishAccess(ctx, sealed, first)
	s, readErr := v.opts.Store.Access(ctx, -1)
	switch {
	case readErr != nil:
		return readErr
	case s.Secret == nil:
		return err
	case bytes.Equal(s.Secret, sealed) && v.opts.Announce != nil: // this process was the first, whatever its error was
		v.opts.Announce(text)
	}
	return nil
}

// Run reads changes and writes uses until ctx ends.
func (v *Verifier) Run(ctx context.Context) error {
	touched := v.opts.Clock.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-v.opts.Clock.After(refreshEvery):
		case <-v.kick:
			select {
			case <-ctx.Done():
				return nil
			case <-v.opts.Clock.After(refreshLeast):
			}
		}
		if err := v.refresh(ctx); err != nil && ctx.Err() == nil {
			v.failures.Inc()
			v.opts.Logger.Warn("tokens cannot be read from the catalog; those known are believed meanwhile", "error", err)
		}
		if now := v.opts.Clock.Now(); now.Sub(touched) >= touchEvery {
			touched = now
			v.Touch(ctx)
		}
	}
}

// Touch writes when tokens were used last. A failure is made good by the next call.
func (v *Verifier) Touch(ctx context.Context) {
	v.mu.Lock()
	s := v.state
	v.mu.Unlock()
	used := map[string]time.Time{}
	for prefix, t := range s.tokens {
		if at := t.used.Swap(0); at != 0 {
			used[prefix] = time.UnixMicro(at)
		}
	}
	if err := v.opts.Store.TouchTokens(ctx, used); err != nil {
		for prefix, at := range used {
			s.tokens[prefix].used.CompareAndSwap(0, at.UnixMicro())
		}
	}
}

// refresh reads what has changed.
func (v *Verifier) refresh(ctx context.Context) error {
	v.refreshing.Lock()
	defer v.refreshing.Unlock()
	v.mu.Lock()
	v.begun++
	number, before := v.begun, v.state
	v.mu.Unlock()
	after, err := v.read(ctx, before)
	v.mu.Lock()
	defer v.mu.Unlock()
	if err == nil {
		v.state = after
	}
	v.ended, v.err = number, err
	close(v.next)
	v.next = make(chan struct{})
	return err
}

func (v *Verifier) read(ctx context.Context, before *state) (*state, error) {
	now, known := v.opts.Clock.Now(), int64(-1)
	if before != nil {
		known = before.version
	}
	a, err := v.opts.Store.Access(ctx, known)
	if err != nil {
		return nil, err
	}
	if a.Unchanged {
		return &state{at: now, version: before.version, tokens: before.tokens, ring: before.ring}, nil
	}
	s := &state{at: now, version: a.Version, tokens: make(map[string]*knownToken, len(a.Tokens))}
	if s.ring, err = v.ring(a.Secret); err != nil {
		return nil, err
	}
	for i := range a.Tokens {
		if before != nil {
			if t := before.tokens[a.Tokens[i].Prefix]; t != nil && bytes.Equal(t.hash, a.Tokens[i].Hash) {
				s.tokens[a.Tokens[i].Prefix] = t // tokens are made and revoked, never changed
				continue
			}
		}
		t, err := newKnownToken(&a.Tokens[i])
		if err != nil {
			v.opts.Logger.Error("a stored token cannot be understood and is good for nothing", "prefix", a.Tokens[i].Prefix, "error", err)
			continue
		}
		s.tokens[a.Tokens[i].Prefix] = t
	}
	return s, nil
}

// ring returns the keys of web tokens. The stored ones are read even when another is pinned: a wrong cipher key shows at the start.
func (v *Verifier) ring(sealed []byte) (keyring, error) {
	ring, err := openKeyring(v.opts.Cipher, sealed)
	if err != nil {
		return ring, fault.Wrap(fault.Invalid, err, "MS_CIPHER_KEY: %s", errWrongKey)
	}
	if v.opts.PinnedSecret != "" {
		ring = keyring{Keys: []signingKey{{Secret: []byte(v.opts.PinnedSecret)}}}
	}
	return ring, nil
}

func newKnownToken(t *catalog.Token) (*knownToken, error) {
	grant, err := ParseGrant(t.Orgs)
	if err != nil {
		return nil, err
	}
	rights, err := ParseRight(t.Rights)
	if err != nil {
		return nil, err
	}
	return &knownToken{
		hash: t.Hash, expires: t.Expires, principal: Principal{Actor: "token " + t.Prefix, Rights: rights, Grant: grant},
	}, nil
}

// verify returns whom a credential is of, without orgs. Its errors are errUnauthenticated, Unavailable, or the context's.
func (v *Verifier) verify(ctx context.Context, text string) (Principal, error) {
	if len(text) > MaxTokenBytes {
		return Principal{}, errUnauthenticated
	}
	if strings.HasPrefix(text, tokenStart) {
		return v.verifyToken(ctx, text)
	}
	s, err := v.current()
	if err != nil {
		return Principal{}, err
	}
	p, err := verifyJWT(text, s.ring, v.opts.Clock.Now)
	if err != nil {
		return Principal{}, fmt.Errorf("%w: %w", errUnauthenticated, err)
	}
	return p, nil
}

func (v *Verifier) verifyToken(ctx context.Context, text string) (Principal, error) {
	prefix, secret, ok := splitToken(text)
	if !ok {
		return Principal{}, errUnauthenticated
	}
	s, err := v.current()
	if err != nil {
		return Principal{}, err
	}
	t := s.tokens[prefix]
	if t == nil { // it may have been made a moment ago, on another node
		if s, err = v.refreshed(ctx); err != nil {
			return Principal{}, err
		}
		if t = s.tokens[prefix]; t == nil {
			return Principal{}, errUnauthenticated
		}
	}
	now := v.opts.Clock.Now()
	if !sameSecret(t.hash, secret) || !t.expires.IsZero() && !now.Before(t.expires) {
		return Principal{}, errUnauthenticated
	}
	t.used.Store(now.UnixMicro())
	return t.principal, nil
}

// current returns what is known, unless that is too old to be believed.
func (v *Verifier) current() (*state, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.opts.Clock.Now().Sub(v.state.at) > staleAfter {
		return nil, fault.Wrap(fault.Unavailable, v.err, "tokens cannot be checked: the catalog has not answered for %s", staleAfter)
	}
	return v.state, nil
}

// refreshed returns what is known after a refresh that began after the call. All callers share a few refreshes a second.
func (v *Verifier) refreshed(ctx context.Context) (*state, error) {
	v.mu.Lock()
	want := v.begun + 1
	v.mu.Unlock()
	patience, cancel := context.WithTimeout(ctx, missPatience)
	defer cancel()
	for {
		v.mu.Lock()
		s, ended, err, next := v.state, v.ended, v.err, v.next
		v.mu.Unlock()
		switch {
		case ended >= want && err != nil:
			return nil, fault.Wrap(fault.Unavailable, err, "the token cannot be checked now")
		case ended >= want:
			return s, nil
		}
		select {
		case v.kick <- struct{}{}:
		default:
		}
		select {
		case <-next:
		case <-patience.Done():
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, fault.New(fault.Unavailable, "the token cannot be checked now")
		}
	}
}
