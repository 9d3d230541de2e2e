package catalog

import (
	"context"
	"time"
)

// Access is the part about who may ask, and about what was changed by whom. Its values are opaque here: what a hash, a grant, a right or
// a sealed secret means is decided by package auth.
type Access interface {
	// EstablishAccess stores the first sealed secret and the first token in one step, or nothing when a secret is stored already. Which of
	// several processes was first is told by Access: the secret is the winner's.
	EstablishAccess(ctx context.Context, sealed []byte, first Token) error
	// Access returns secret and tokens as of one moment, and their version. When the version is known, it returns that alone: the call is
	// cheap and may be made every second. A negative known asks for all.
	Access(ctx context.Context, known int64) (AccessState, error)
	// ReplaceSecret stores sealed in the place of old. ErrSecretChanged when another one is stored.
	ReplaceSecret(ctx context.Context, old, sealed []byte) error
	// CreateToken stores a token. ErrTokenExists when its prefix is in use, ErrTooManyTokens when there are MaxTokens.
	CreateToken(ctx context.Context, t Token) error
	// RevokeToken deletes a token. ErrNoToken when there is none.
	RevokeToken(ctx context.Context, prefix string) error
	// TouchTokens records when tokens were used last. Earlier times than those recorded and unknown prefixes are left out. The version
	// stays as it is.
	TouchTokens(ctx context.Context, used map[string]time.Time) error

	// RecordChange appends to the audit log, of which the newest MaxChanges records are kept. ID and At are given by the catalog.
	RecordChange(ctx context.Context, c Change) error
	// RecordChangeOnce is RecordChange unless a record of the same action, object and detail with an id above after is there already: of
	// several processes that tell of one change, one is heard. It returns the id of that record or of its own.
	RecordChangeOnce(ctx context.Context, c Change, after int64) (id int64, err error)
	// LastChange returns the newest record about an object, the zero Change when there is none.
	LastChange(ctx context.Context, object string) (Change, error)
	// Changes returns records of the audit log with ids below before (0 = all), the newest first, at most limit.
	Changes(ctx context.Context, before int64, limit int) ([]Change, error)
}

const (
	// MaxTokens is the most tokens that a catalog holds: every process that authenticates has all of them in memory.
	MaxTokens = 10_000
	// MaxChanges is about the most records that the audit log keeps.
	MaxChanges = 100_000
)

// AccessState is what a process needs to know to tell who asks.
type AccessState struct {
	Version   int64 // rises with every change of secret or tokens
	Unchanged bool  // Version is the one that was known; the rest is empty
	Secret    []byte
	Tokens    []Token // by prefix
}

// Token is an API token. The secret that its owner sends is not stored.
type Token struct {
	Prefix    string   // names the token: lower case letters and digits
	Hash      []byte   // of the secret
	Name      string   // what its maker says it is for
	Orgs      []string // the grant
	Rights    []string
	CreatedBy string
	Created   time.Time // set by the catalog
	Expires   time.Time // zero = never
	Used      time.Time // about when it was used last; zero = never
}

// Change is a record of the audit log.
type Change struct {
	ID     int64
	At     time.Time
	Actor  string // who
	Action string // what, as in "token.create"
	Org    string // empty where it concerns none
	Object string // of what: a prefix, a database, a node
	Detail string
}
