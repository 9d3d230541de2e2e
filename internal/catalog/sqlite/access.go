package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/internal/rules"
)

const (
	accessCounter = "access"
	accessSecret  = "access" // the one secret's name
)

// EstablishAccess implements catalog.Access.
func (c *Catalog) EstablishAccess(ctx context.Context, sealed []byte, first catalog.Token) error {
	return c.write(ctx, "establish access", func(tx *sql.Tx) error {
		n, err := exec(ctx, tx, sqlSecretInsert, accessSecret, sealed)
		if err != nil || n == 0 {
			return err
		}
		return c.insertToken(ctx, tx, first)
	})
}

// Access implements catalog.Access.
func (c *Catalog) Access(ctx context.Context, known int64) (out catalog.AccessState, err error) {
	err = c.read(ctx, "read access", func(tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, sqlAccessVersion).Scan(&out.Version); err != nil {
			return err
		}
		if out.Unchanged = out.Version == known; out.Unchanged {
			return nil
		}
		err := tx.QueryRowContext(ctx, sqlSecretGet, accessSecret).Scan(&out.Secret)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		out.Tokens, err = query(ctx, tx, scanToken, sqlTokens)
		return err
	})
	return out, err
}

// ReplaceSecret implements catalog.Access.
func (c *Catalog) ReplaceSecret(ctx context.Context, old, sealed []byte) error {
	return c.write(ctx, "replace secret", func(tx *sql.Tx) error {
		n, err := exec(ctx, tx, sqlSecretReplace, accessSecret, old, sealed)
		if err != nil {
			return err
		}
		if n == 0 {
			return catalog.ErrSecretChanged
		}
		return raiseAccess(ctx, tx)
	})
}

// CreateToken implements catalog.Access.
func (c *Catalog) CreateToken(ctx context.Context, t catalog.Token) error {
	return c.write(ctx, "create token", func(tx *sql.Tx) error { return c.insertToken(ctx, tx, t) })
}

func (c *Catalog) insertToken(ctx context.Context, tx *sql.Tx, t catalog.Token) error {
	orgs, rights, err := rules.EncodeToken(&t)
	if err != nil {
		return err
	}
	if err := raiseAccess(ctx, tx); err != nil {
		return err
	}
	var count int
	if err := tx.QueryRowContext(ctx, sqlTokensCount).Scan(&count); err != nil {
		return err
	}
	if count >= catalog.MaxTokens {
		return catalog.ErrTooManyTokens
	}
	expires := sql.NullInt64{Int64: t.Expires.UnixMicro(), Valid: !t.Expires.IsZero()}
	n, err := exec(ctx, tx, sqlTokenInsert, t.Prefix, t.Hash, t.Name, orgs, rights, t.CreatedBy, expires, c.now())
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: %s", catalog.ErrTokenExists, t.Prefix)
	}
	return err
}

// RevokeToken implements catalog.Access.
func (c *Catalog) RevokeToken(ctx context.Context, prefix string) error {
	return c.write(ctx, "revoke token", func(tx *sql.Tx) error {
		n, err := exec(ctx, tx, sqlTokenDelete, rules.CleanText(prefix))
		if err != nil {
			return err
		}
		if n == 0 {
			return catalog.ErrNoToken
		}
		return raiseAccess(ctx, tx)
	})
}

func raiseAccess(ctx context.Context, tx *sql.Tx) error {
	var version int64
	return tx.QueryRowContext(ctx, sqlCounterNext, accessCounter, 1).Scan(&version)
}

// TouchTokens implements catalog.Access.
func (c *Catalog) TouchTokens(ctx context.Context, used map[string]time.Time) error {
	if len(used) == 0 {
		return nil
	}
	return c.write(ctx, "touch tokens", func(tx *sql.Tx) error {
		for prefix, at := range used {
			if _, err := exec(ctx, tx, sqlTokenTouch, prefix, at.UnixMicro()); err != nil {
				return err
			}
		}
		return nil
	})
}

// RecordChange implements catalog.Access.
func (c *Catalog) RecordChange(ctx context.Context, r catalog.Change) error {
	rules.CleanChange(&r)
	return c.write(ctx, "record change", func(tx *sql.Tx) error {
		_, err := c.recordChange(ctx, tx, r)
		return err
	})
}

func (c *Catalog) recordChange(ctx context.Context, tx *sql.Tx, r catalog.Change) (id int64, err error) {
	err = tx.QueryRowContext(ctx, sqlChangeInsert, r.Actor, r.Action, r.Org, r.Object, r.Detail, c.now()).Scan(&id)
	if err != nil {
		return 0, err
	}
	_, err = exec(ctx, tx, sqlChangesTrim, id-catalog.MaxChanges)
	return id, err
}

// RecordChangeOnce implements catalog.Access.
func (c *Catalog) RecordChangeOnce(ctx context.Context, r catalog.Change, after int64) (id int64, err error) {
	rules.CleanChange(&r)
	err = c.write(ctx, "record change once", func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, sqlChangeFind, r.Action, r.Object, r.Detail, after).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			id, err = c.recordChange(ctx, tx, r)
		}
		return err
	})
	return id, err
}

// LastChange implements catalog.Access.
func (c *Catalog) LastChange(ctx context.Context, object string) (last catalog.Change, err error) {
	err = c.read(ctx, "last change", func(tx *sql.Tx) error {
		found, err := query(ctx, tx, scanChange, sqlChangeLast, object)
		if err == nil && len(found) > 0 {
			last = found[0]
		}
		return err
	})
	return last, err
}

// Changes implements catalog.Access.
func (c *Catalog) Changes(ctx context.Context, before int64, limit int) (out []catalog.Change, err error) {
	err = c.read(ctx, "list changes", func(tx *sql.Tx) error {
		out, err = query(ctx, tx, scanChange, sqlChanges, before, limit)
		return err
	})
	return out, err
}

func scanToken(rows *sql.Rows) (t catalog.Token, err error) {
	var (
		orgs, rights  string
		created       int64
		expires, used sql.NullInt64
	)
	if err := rows.Scan(&t.Prefix, &t.Hash, &t.Name, &orgs, &rights, &t.CreatedBy, &created, &expires, &used); err != nil {
		return t, err
	}
	t.Created = moment(created)
	if expires.Valid {
		t.Expires = moment(expires.Int64)
	}
	if used.Valid {
		t.Used = moment(used.Int64)
	}
	err = rules.DecodeToken(&t, orgs, rights)
	return t, err
}

func scanChange(rows *sql.Rows) (r catalog.Change, err error) {
	var at int64
	err = rows.Scan(&r.ID, &at, &r.Actor, &r.Action, &r.Org, &r.Object, &r.Detail)
	r.At = moment(at)
	return r, err
}
