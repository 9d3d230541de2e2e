package auth

import (
	"context"
	"log/slog"
	"time"

	"github.com/millstream/millstream/internal/catalog"
)

// auditLimit bounds the wait for the catalog. The change has happened by then, so a request does not fail for it.
const auditLimit = 5 * time.Second

// maxDetail bounds texts of a record in bytes.
const maxDetail = 4 << 10

// Audit records changes that administrators and statements make: a line of the log and a row of the catalog, which is read with
// Registry.Changes. Safe for concurrent use.
type Audit struct {
	store  catalog.Access
	logger *slog.Logger
}

// NewAudit returns an Audit. A nil logger discards.
func NewAudit(store catalog.Access, logger *slog.Logger) *Audit {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Audit{store: store, logger: logger}
}

// Record records a change that has been made. It does not fail: when the catalog is away, the line in the log is all there is, and says so.
func (a *Audit) Record(ctx context.Context, c catalog.Change) {
	ctx, cancel := a.tell(ctx, &c)
	defer cancel()
	if err := a.store.RecordChange(ctx, c); err != nil {
		a.alone(c, err)
	}
}

// RecordOnce is Record for a change of which several processes tell: the catalog takes it from one of them, unless it is recorded under an
// id above after. It returns the id of its record, after when the catalog is away.
func (a *Audit) RecordOnce(ctx context.Context, c catalog.Change, after int64) int64 {
	ctx, cancel := a.tell(ctx, &c)
	defer cancel()
	id, err := a.store.RecordChangeOnce(ctx, c, after)
	if err != nil {
		a.alone(c, err)
		return after
	}
	return id
}

// Last returns the newest record about an object, the zero Change when there is none.
func (a *Audit) Last(ctx context.Context, object string) (catalog.Change, error) {
	return a.store.LastChange(ctx, object)
}

// tell cleans a record and writes it to the log. The context returned bounds the wait for the catalog.
func (a *Audit) tell(ctx context.Context, c *catalog.Change) (context.Context, context.CancelFunc) {
	for _, s := range []*string{&c.Actor, &c.Org, &c.Object, &c.Detail} {
		*s = clean(*s, maxDetail)
	}
	a.logger.Info("audit", "actor", c.Actor, "action", c.Action, "org", c.Org, "object", c.Object, "detail", c.Detail)
	return context.WithTimeout(context.WithoutCancel(ctx), auditLimit)
}

func (a *Audit) alone(c catalog.Change, err error) {
	a.logger.Error("audit: the record is in this log alone", "action", c.Action, "object", c.Object, "error", err)
}
