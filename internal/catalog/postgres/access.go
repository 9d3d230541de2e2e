package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/internal/rules"
)

const (
	accessCounter = "access"
	accessSecret  = "access" // the one secret's name
)

// EstablishAccess implements catalog.Access.
func (c *Catalog) EstablishAccess(ctx context.Context, sealed []byte, first catalog.Token) error {
	return c.write(ctx, "establish access", func(ctx context.Context, db conn) error {
		n, err := exec(ctx, db, sqlSecretInsert, accessSecret, sealed)
		if err != nil || n == 0 {
			return err
		}
		return insertToken(ctx, db, first)
	})
}

// Access implements catalog.Access.
func (c *Catalog) Access(ctx context.Context, known int64) (out catalog.AccessState, err error) {
	if known >= 0 {
		err = c.read(ctx, "read the version of access", func(ctx context.Context, db conn) error {
			return db.QueryRow(ctx, sqlAccessVersion).Scan(&out.Version)
		})
		if out.Unchanged = out.Version == known; err != nil || out.Unchanged {
			return out, err
		}
	}
	err = c.snapshot(ctx, "read access", func(ctx context.Context, db conn) error {
		out = catalog.AccessState{}
		if err := db.QueryRow(ctx, sqlAccessVersion).Scan(&out.Version); err != nil {
			return err
		}
		secrets, err := query(ctx, db, pgx.RowTo[[]byte], sqlSecretGet, accessSecret)
		if err != nil {
			return err
		}
		if len(secrets) > 0 {
			out.Secret = secrets[0]
		}
		out.Tokens, err = query(ctx, db, scanToken, sqlTokens)
		return err
	})
	return out, err
}

// ReplaceSecret implements catalog.Access.
func (c *Catalog) ReplaceSecret(ctx context.Context, old, sealed []byte) error {
	return c.write(ctx, "replace secret", func(ctx context.Context, db conn) error {
		n, err := exec(ctx, db, sqlSecretReplace, accessSecret, old, sealed)
		if err != nil {
			return err
		}
		if n == 0 {
			return catalog.ErrSecretChanged
		}
		return raiseAccess(ctx, db)
	})
}

// CreateToken implements catalog.Access.
func (c *Catalog) CreateToken(ctx context.Context, t catalog.Token) error {
	return c.write(ctx, "create token", func(ctx context.Context, db conn) error { return insertToken(ctx, db, t) })
}

// insertToken takes the counter first: its lock keeps the number of tokens from passing the limit.
func insertToken(ctx context.Context, db conn, t catalog.Token) error {
	orgs, rights, err := rules.EncodeToken(&t)
	if err != nil {
		return err
	}
	if err := raiseAccess(ctx, db); err != nil {
		return err
	}
	var count int
	if err := db.QueryRow(ctx, sqlTokensCount).Scan(&count); err != nil {
		return err
	}
	if count >= catalog.MaxTokens {
		return catalog.ErrTooManyTokens
	}
	var expires *time.Time
	if !t.Expires.IsZero() {
		expires = &t.Expires
	}
	n, err := exec(ctx, db, sqlTokenInsert, t.Prefix, t.Hash, t.Name, orgs, rights, t.CreatedBy, expires)
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: %s", catalog.ErrTokenExists, t.Prefix)
	}
	return err
}

// RevokeToken implements catalog.Access.
func (c *Catalog) RevokeToken(ctx context.Context, prefix string) error {
	return c.write(ctx, "revoke token", func(ctx context.Context, db conn) error {
		n, err := exec(ctx, db, sqlTokenDelete, rules.CleanText(prefix))
		if err != nil {
			return err
		}
		if n == 0 {
			return catalog.ErrNoToken
		}
		return raiseAccess(ctx, db)
	})
}

func raiseAccess(ctx context.Context, db conn) error {
	var version int64
	return db.QueryRow(ctx, sqlCounterNext, accessCounter, 1).Scan(&version)
}

// TouchTokens implements catalog.Access.
func (c *Catalog) TouchTokens(ctx context.Context, used map[string]time.Time) error {
	if len(used) == 0 {
		return nil
	}
	return c.write(ctx, "touch tokens", func(ctx context.Context, db conn) error {
		b := &pgx.Batch{}
		for _, prefix := range rules.SortedKeys(used) { // one order for all processes, so that they cannot lock each other
			b.Queue(sqlTokenTouch, prefix, used[prefix])
		}
		return db.SendBatch(ctx, b).Close()
	})
}

// RecordChange implements catalog.Access.
func (c *Catalog) RecordChange(ctx context.Context, r catalog.Change) error {
	rules.CleanChange(&r)
	return c.write(ctx, "record change", func(ctx context.Context, db conn) error {
		_, err := recordChange(ctx, db, r)
		return err
	})
}

func recordChange(ctx context.Context, db conn, r catalog.Change) (id int64, err error) {
	if err := db.QueryRow(ctx, sqlChangeInsert, r.Actor, r.Action, r.Org, r.Object, r.Detail).Scan(&id); err != nil {
		return 0, err
	}
	_, err = exec(ctx, db, sqlChangesTrim, id-catalog.MaxChanges)
	return id, err
}

// RecordChangeOnce implements catalog.Access. Nobody else records between the look and the insertion.
func (c *Catalog) RecordChangeOnce(ctx context.Context, r catalog.Change, after int64) (id int64, err error) {
	rules.CleanChange(&r)
	err = c.write(ctx, "record change once", func(ctx context.Context, db conn) error {
		if _, err := exec(ctx, db, sqlChangesLock); err != nil {
			return err
		}
		err := db.QueryRow(ctx, sqlChangeFind, r.Action, r.Object, r.Detail, after).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			id, err = recordChange(ctx, db, r)
		}
		return err
	})
	return id, err
}

// LastChange implements catalog.Access.
func (c *Catalog) LastChange(ctx context.Context, object string) (last catalog.Change, err error) {
	err = c.read(ctx, "last change", func(ctx context.Context, db conn) error {
		found, err := query(ctx, db, scanChange, sqlChangeLast, object)
		if err == nil && len(found) > 0 {
			last = found[0]
		}
		return err
	})
	return last, err
}

// Changes implements catalog.Access.
func (c *Catalog) Changes(ctx context.Context, before int64, limit int) (out []catalog.Change, err error) {
	err = c.read(ctx, "list changes", func(ctx context.Context, db conn) error {
		out, err = query(ctx, db, scanChange, sqlChanges, before, limit)
		return err
	})
	return out, err
}

func scanToken(row pgx.CollectableRow) (t catalog.Token, err error) {
	var (
		orgs, rights  string
		expires, used *time.Time
	)
	if err := row.Scan(&t.Prefix, &t.Hash, &t.Name, &orgs, &rights, &t.CreatedBy, &t.Created, &expires, &used); err != nil {
		return t, err
	}
	t.Created = t.Created.UTC()
	if expires != nil {
		t.Expires = expires.UTC()
	}
	if used != nil {
		t.Used = used.UTC()
	}
	err = rules.DecodeToken(&t, orgs, rights)
	return t, err
}

func scanChange(row pgx.CollectableRow) (r catalog.Change, err error) {
	err = row.Scan(&r.ID, &r.At, &r.Actor, &r.Action, &r.Org, &r.Object, &r.Detail)
	r.At = r.At.UTC()
	return r, err
}
