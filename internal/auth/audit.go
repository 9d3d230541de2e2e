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
	for _, s := range []*string{&c.Actor, &c.Org, &c.Object, &c.Detail} {
		*s = clean(*s, maxDetail)
	}
	a.logger.Info("audit", "actor", c.Actor, "action", c.Action, "org", c.Org, "object", c.Object, "detail", c.Detail)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditLimit)
	defer cancel()
	if err := a.store.RecordChange(ctx, c); err != nil {
		a.logger.Error("audit: the record is in this log alone", "action", c.Action, "object", c.Object, "error", err)
	}
}
