package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millstream/millstream/internal/app"
	"github.com/millstream/millstream/internal/config"
)

const tokensAPI = "/api/v1/tokens" //nolint:gosec // a path

// tokenOptions are what all token commands share.
type tokenOptions struct {
	config      *string
	addr, token string
	timeout     time.Duration
	direct      bool
	listing
}

func tokenCommand(path *string, s Streams) *cobra.Command {
	o := &tokenOptions{config: path, listing: listing{Streams: s}}
	cmd := &cobra.Command{
		Use: "token", Short: "Make, list and revoke API tokens",
		Long: `Make, list and revoke API tokens.

The commands ask a server, which needs an admin token (--token or $` + envToken + `), or, with --direct, work on the catalog that the
settings name: on the machine of a standalone server, or on any that reaches the cluster's PostgreSQL. A server notices within a second.`,
		Args: arguments(cobra.NoArgs),
	}
	f := cmd.PersistentFlags()
	f.StringVar(&o.addr, "addr", "", "`URL` of the server's HTTP API (default $"+envAddr+", else "+defaultAddr+")")
	tokenFlag(f, &o.token)
	f.DurationVar(&o.timeout, "timeout", 0, "give up a request after this `time` (0 = none)")
	f.BoolVar(&o.direct, "direct", false, "work on the catalog itself: no server and no token is needed")
	o.addFlag(f)
	cmd.AddCommand(o.create(), o.list(), o.revoke(), o.rotate())
	return cmd
}

// tokenRequest is what a new token is to be.
type tokenRequest struct {
	Type    string   `json:"type,omitempty"`
	Name    string   `json:"name,omitempty"`
	Orgs    []string `json:"orgs"`
	Rights  []string `json:"rights"`
	Expires string   `json:"expires,omitempty"`
}

// tokenShown is a token as the API describes it.
type tokenShown struct {
	Token     string     `json:"token,omitempty"`
	Prefix    string     `json:"prefix,omitempty"`
	Name      string     `json:"name"`
	Orgs      []string   `json:"orgs"`
	Rights    []string   `json:"rights"`
	CreatedBy string     `json:"created_by,omitempty"`
	CreatedAt *time.Time `json:"created_at,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	UsedAt    *time.Time `json:"used_at,omitempty"`
}

// tokenAdmin makes and revokes tokens: a server, or the catalog.
type tokenAdmin interface {
	create(ctx context.Context, q tokenRequest) (tokenShown, error)
	list(ctx context.Context) ([]tokenShown, error)
	revoke(ctx context.Context, prefix string) error
	rotate(ctx context.Context, grace time.Duration) error
}

// with calls f with what the flags name.
func (o *tokenOptions) with(ctx context.Context, f func(tokenAdmin) error) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	if !o.direct {
		c, err := newConnection(o.addr, o.token, o.timeout)
		if err != nil {
			return err
		}
		return f(serverTokens{c})
	}
	settings, _, err := config.Load(config.FromProcess(*o.config))
	if err != nil {
		return err
	}
	registry, closing, err := app.OpenRegistry(ctx, settings, app.NewLogger(settings.Log, io.Discard))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closing()) }()
	return f(catalogTokens{registry, operatorName()})
}

// operatorName names the user of the command line for the audit log.
func operatorName() string {
	host, _ := os.Hostname() // without one the user says enough
	if u, err := user.Current(); err == nil {
		return "cli " + u.Username + "@" + host
	}
	return "cli @" + host
}

func (o *tokenOptions) create() *cobra.Command {
	var q tokenRequest
	var web bool
	cmd := &cobra.Command{
		Use: "create", Short: "Make a token and show it once",
		Example: `  millstream token create --org acme --rights read,write --name "collector of acme" --expires 90d
  millstream token create --org acme --org beta --rights read -o json
  millstream token create --org '*' --rights admin --direct
  millstream token create --org acme --rights read --jwt --name grafana --expires 1h`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if web {
				q.Type = "jwt"
			}
			return o.with(cmd.Context(), func(a tokenAdmin) error {
				made, err := a.create(cmd.Context(), q)
				if err != nil {
					return err
				}
				return o.print(made, func(io.Writer) {
					fmt.Fprintln(o.Out, made.Token)
					fmt.Fprintln(o.Err, "keep it: it is not shown again")
				})
			})
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&q.Orgs, "org", nil, "`org` that the token is good for, again for more; '*' for all")
	f.StringSliceVar(&q.Rights, "rights", []string{"read"}, "`rights`: read, write, admin")
	f.StringVar(&q.Name, "name", "", "what the token is for; of a web token the subject")
	f.StringVar(&q.Expires, "expires", "", "`time` of its end (RFC 3339), or how long it lives: 12h, 90d (default: for ever)")
	f.BoolVar(&web, "jwt", false, "make a web token, which cannot be revoked alone and needs an end")
	return cmd
}

func (o *tokenOptions) list() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tokens", Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.with(cmd.Context(), func(a tokenAdmin) error {
				all, err := a.list(cmd.Context())
				if err != nil {
					return err
				}
				return o.print(all, func(w io.Writer) { printTokens(w, all) })
			})
		},
	}
}

func printTokens(w io.Writer, all []tokenShown) {
	at := func(t *time.Time) string {
		if t == nil {
			return "-"
		}
		return t.UTC().Format(time.RFC3339)
	}
	fmt.Fprintln(w, "PREFIX\tNAME\tORGS\tRIGHTS\tCREATED\tBY\tEXPIRES\tUSED")
	for _, t := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.Prefix, dash(printable(t.Name)), strings.Join(t.Orgs, ","),
			strings.Join(t.Rights, ","), at(t.CreatedAt), dash(printable(t.CreatedBy)), at(t.ExpiresAt), at(t.UsedAt))
	}
}

func (o *tokenOptions) revoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke PREFIX", Short: "Make a token worthless", Example: "  millstream token revoke mfrggzdfmztwq",
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd.Context(), func(a tokenAdmin) error {
				if err := a.revoke(cmd.Context(), args[0]); err != nil {
					return err
				}
				return o.print(map[string]string{"revoked": args[0]}, func(w io.Writer) { fmt.Fprintln(w, args[0], "is revoked") })
			})
		},
	}
}

func (o *tokenOptions) rotate() *cobra.Command {
	var grace time.Duration
	cmd := &cobra.Command{
		Use: "rotate", Short: "Make a new key for web tokens",
		Long: `Make a new key for web tokens. Those of the old key are good for as long as --grace says, and end with it.`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.with(cmd.Context(), func(a tokenAdmin) error {
				if err := a.rotate(cmd.Context(), grace); err != nil {
					return err
				}
				return o.print(map[string]bool{"rotated": true}, func(w io.Writer) { fmt.Fprintln(w, "the key is rotated") })
			})
		},
	}
	cmd.Flags().DurationVar(&grace, "grace", 24*time.Hour, "how long web tokens of the old key are good; 0 = they end now")
	return cmd
}

// serverTokens asks a server.
type serverTokens struct{ *client }

func (s serverTokens) ask(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("write the request: %w", err)
		}
	}
	text, _, err := s.call(ctx, method, path, body, http.Header{"Content-Type": {mediaJSON}})
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}

func (s serverTokens) create(ctx context.Context, q tokenRequest) (made tokenShown, err error) {
	err = s.ask(ctx, http.MethodPost, tokensAPI, q, &made)
	return made, err
}

func (s serverTokens) list(ctx context.Context) ([]tokenShown, error) {
	var out struct {
		Tokens []tokenShown `json:"tokens"`
	}
	err := s.ask(ctx, http.MethodGet, tokensAPI, nil, &out)
	return out.Tokens, err
}

func (s serverTokens) revoke(ctx context.Context, prefix string) error {
	return s.ask(ctx, http.MethodDelete, tokensAPI+"/"+url.PathEscape(prefix), nil, nil)
}

func (s serverTokens) rotate(ctx context.Context, grace time.Duration) error {
	return s.ask(ctx, http.MethodPost, tokensAPI+"/rotate", map[string]string{"grace": grace.String()}, nil)
}
