package cli

import (
	"context"
	"time"

	"github.com/millstream/millstream/internal/auth"
	"github.com/millstream/millstream/internal/catalog"
)

// catalogTokens works on the catalog. Whoever reaches that may do everything anyway.
type catalogTokens struct {
	registry *auth.Registry
	name     string
}

func (c catalogTokens) by() auth.Principal {
	return auth.Principal{Actor: c.name, Rights: auth.Every, Grant: auth.Grant{All: true}}
}

func (c catalogTokens) create(ctx context.Context, q tokenRequest) (tokenShown, error) {
	s := auth.Spec{Name: q.Name}
	var err error
	if s.Grant, err = auth.ParseGrant(q.Orgs); err != nil {
		return tokenShown{}, err
	}
	if s.Rights, err = auth.ParseRight(q.Rights); err != nil {
		return tokenShown{}, err
	}
	if s.Expires, err = auth.ParseExpiry(q.Expires, time.Now()); err != nil {
		return tokenShown{}, err
	}
	if q.Type == "jwt" {
		text, err := c.registry.Sign(ctx, c.by(), s)
		if err != nil {
			return tokenShown{}, err
		}
		return tokenShown{Token: text, Name: s.Name, Orgs: s.Grant.Names(), Rights: s.Rights.Names(), ExpiresAt: &s.Expires}, nil
	}
	text, made, err := c.registry.Create(ctx, c.by(), s)
	if err != nil {
		return tokenShown{}, err
	}
	out := newTokenShown(made)
	out.Token = text
	return out, nil
}

func newTokenShown(t catalog.Token) tokenShown {
	at := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	return tokenShown{
		Prefix: t.Prefix, Name: t.Name, Orgs: t.Orgs, Rights: t.Rights, CreatedBy: t.CreatedBy,
		CreatedAt: at(t.Created), ExpiresAt: at(t.Expires), UsedAt: at(t.Used),
	}
}

func (c catalogTokens) list(ctx context.Context) ([]tokenShown, error) {
	all, err := c.registry.List(ctx, c.by())
	if err != nil {
		return nil, err
	}
	out := make([]tokenShown, len(all))
	for i, t := range all {
		out[i] = newTokenShown(t)
	}
	return out, nil
}

func (c catalogTokens) revoke(ctx context.Context, prefix string) error {
	return c.registry.Revoke(ctx, c.by(), prefix)
}

func (c catalogTokens) rotate(ctx context.Context, grace time.Duration) error {
	return c.registry.Rotate(ctx, c.by(), grace)
}
