package auth

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
)

const (
	maxTokenName = 200    // bytes
	maxDays      = 36_500 // of a credential's life
	// maxGrace is the longest time for which keys that were rotated out go on verifying, and the longest life of a signed web token.
	maxGrace = 90 * 24 * time.Hour
)

// Spec is what a new credential is to be. It never exceeds what its maker has.
type Spec struct {
	Name    string // what it is for; of web tokens the subject
	Grant   Grant
	Rights  Right
	Expires time.Time // zero = never; web tokens need one
}

// Registry makes, lists and revokes credentials. It works on the catalog alone, so that it can be used where no server runs. Who acts is
// checked here: an admin acts within the orgs of their own grant.
type Registry struct {
	store  catalog.Access
	cipher *Cipher // nil: no web tokens are signed and no keys rotated
	pinned string
	audit  *Audit
	clock  clock.Clock
	here   *Verifier // nil: nobody is told
}

// NewRegistry returns a Registry. cipher may be nil, see Registry; pinned is Options.PinnedSecret. A nil clock is the system's.
func NewRegistry(store catalog.Access, cipher *Cipher, pinned string, logger *slog.Logger, c clock.Clock) *Registry {
	if c == nil {
		c = clock.System{}
	}
	return &Registry{store: store, cipher: cipher, pinned: pinned, audit: NewAudit(store, logger), clock: c}
}

// Tell lets the verifier of this process know at once what is revoked here; others see it at their next question to the catalog.
func (r *Registry) Tell(v *Verifier) { r.here = v }

// tell goes on when whoever asked for the change hangs up: others may wait for the same answer of the catalog.
func (r *Registry) tell(ctx context.Context) {
	if r.here == nil {
		return
	}
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	_ = r.here.refresh(ctx) // else it sees it by itself a moment later
}

// Create stores a token. The text is not kept anywhere: whoever asked for it must show it to its owner.
func (r *Registry) Create(ctx context.Context, by Principal, s Spec) (text string, made catalog.Token, err error) {
	if err := r.checkSpec(by, &s); err != nil {
		return "", made, err
	}
	text, prefix, hash := newToken()
	made = catalog.Token{
		Prefix: prefix, Hash: hash, Name: s.Name, Orgs: s.Grant.Names(), Rights: s.Rights.Names(), CreatedBy: by.Actor,
		Created: r.clock.Now().UTC(), Expires: s.Expires,
	}
	if err := r.store.CreateToken(ctx, made); err != nil {
		return "", made, err
	}
	r.audit.Record(ctx, catalog.Change{
		Actor: by.Actor, Action: "token.create", Object: prefix, Detail: fmt.Sprintf("orgs %q rights %s", made.Orgs, s.Rights),
	})
	return text, made, nil
}

// Sign makes a web token, which nothing but the rotation of the keys revokes.
func (r *Registry) Sign(ctx context.Context, by Principal, s Spec) (string, error) {
	if err := r.checkSpec(by, &s); err != nil {
		return "", err
	}
	now := r.clock.Now()
	if s.Expires.IsZero() || s.Expires.After(now.Add(maxGrace)) {
		return "", fault.New(fault.Invalid, "expires: a web token cannot be revoked, so its end must be given and lie within 90 days")
	}
	ring, _, err := r.ring(ctx)
	if err != nil {
		return "", err
	}
	key, ok := ring.current()
	if !ok {
		return "", fault.New(fault.Internal, "there is no signing key")
	}
	text, err := signJWT(key, s, now)
	if err != nil {
		return "", err
	}
	r.audit.Record(ctx, catalog.Change{
		Actor: by.Actor, Action: "token.sign", Object: s.Name, Detail: fmt.Sprintf("orgs %q rights %s", s.Grant.Names(), s.Rights),
	})
	return text, nil
}

// List returns the tokens that by may revoke, sorted by prefix, without their hashes.
func (r *Registry) List(ctx context.Context, by Principal) ([]catalog.Token, error) {
	if !by.Rights.Has(Admin) {
		return nil, ErrForbidden
	}
	s, err := r.store.Access(ctx, -1)
	if err != nil {
		return nil, err
	}
	out := slices.DeleteFunc(s.Tokens, func(t catalog.Token) bool { return !covers(by, &t) })
	for i := range out {
		out[i].Hash = nil
	}
	return out, nil
}

// Revoke deletes a token. One that by may not revoke is not found.
func (r *Registry) Revoke(ctx context.Context, by Principal, prefix string) error {
	all, err := r.List(ctx, by)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(t catalog.Token) bool { return t.Prefix == prefix }) {
		return catalog.ErrNoToken
	}
	if err := r.store.RevokeToken(ctx, prefix); err != nil {
		return err
	}
	r.audit.Record(ctx, catalog.Change{Actor: by.Actor, Action: "token.revoke", Object: prefix})
	r.tell(ctx)
	return nil
}

// Rotate makes a new signing key. Web tokens of the older ones are good for as long as grace, 0 = they end now.
func (r *Registry) Rotate(ctx context.Context, by Principal, grace time.Duration) error {
	switch {
	case !by.Rights.Has(Admin) || !by.Grant.All:
		return ErrForbidden
	case grace < 0 || grace > maxGrace:
		return fault.New(fault.Invalid, "grace: from 0 to 90 days are expected, not %s", grace)
	case r.pinned != "":
		return fault.New(fault.Conflict, "MS_AUTH_JWT_SECRET_OVERRIDE pins the signing key: change it there")
	}
	ring, sealed, err := r.ring(ctx)
	if err != nil {
		return err
	}
	again, err := ring.rotated(r.clock.Now(), grace).seal(r.cipher)
	if err != nil {
		return err
	}
	if err := r.store.ReplaceSecret(ctx, sealed, again); err != nil {
		return err
	}
	r.tell(ctx)
	r.audit.Record(ctx, catalog.Change{Actor: by.Actor, Action: "key.rotate", Detail: "grace " + grace.String()})
	return nil
}

// Changes returns records of the audit log, the newest first. They are of all orgs.
func (r *Registry) Changes(ctx context.Context, by Principal, before int64, limit int) ([]catalog.Change, error) {
	if !by.Rights.Has(Admin) || !by.Grant.All {
		return nil, ErrForbidden
	}
	return r.store.Changes(ctx, before, limit)
}

// ring returns the signing keys, and the stored ones as they are stored.
func (r *Registry) ring(ctx context.Context) (ring keyring, sealed []byte, err error) {
	if r.pinned != "" {
		return keyring{Keys: []signingKey{{Secret: []byte(r.pinned)}}}, nil, nil
	}
	if r.cipher == nil {
		return ring, nil, fault.New(fault.Invalid, "the signing key cannot be read here: MS_CIPHER_KEY is not set")
	}
	s, err := r.store.Access(ctx, -1)
	if err != nil {
		return ring, nil, err
	}
	if s.Secret == nil {
		return ring, nil, fault.New(fault.NotFound, "there is no signing key yet: a node with auth.mode token makes it when it starts")
	}
	ring, err = openKeyring(r.cipher, s.Secret)
	if err != nil {
		err = fault.Wrap(fault.Invalid, err, "MS_CIPHER_KEY: %s", errWrongKey)
	}
	return ring, s.Secret, err
}

func (r *Registry) checkSpec(by Principal, s *Spec) error {
	s.Name = clean(s.Name, maxTokenName)
	switch {
	case !by.Rights.Has(Admin), !by.Grant.Covers(s.Grant):
		return ErrForbidden
	case !s.Grant.All && len(s.Grant.Orgs) == 0, s.Rights == 0:
		return fault.New(fault.Invalid, "orgs and rights are needed")
	case !s.Expires.IsZero() && !s.Expires.After(r.clock.Now()):
		return fault.New(fault.Invalid, "expires: %s is past", s.Expires.UTC().Format(time.RFC3339))
	default:
		return nil
	}
}

// covers reports whether by's grant covers a token's. One that cannot be understood is for those who may do everything.
func covers(by Principal, t *catalog.Token) bool {
	g, err := ParseGrant(t.Orgs)
	if err != nil {
		return by.Grant.All
	}
	return by.Grant.Covers(g)
}

// ParseExpiry reads the end of a credential: a time in RFC 3339, or how long it lives, in Go's units or days, such as 12h or 90d. Empty is
// never.
func ParseExpiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UTC(), nil
	}
	life, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		if life = time.Duration(n) * 24 * time.Hour; n > maxDays {
			err = strconv.ErrRange
		}
	}
	if err != nil || life <= 0 {
		return time.Time{}, fault.New(fault.Invalid, "expires: %.64q is neither a time (RFC 3339) nor a duration such as 12h or 90d", text)
	}
	return now.Add(life).UTC(), nil
}
