package cli

import (
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The server that clients talk to when nothing else is said: the default of http.port on this machine.
const defaultAddr = "http://127.0.0.1:5080"

// Variables that stand for flags which are not given. They are the client's, hence not MS_.
const (
	envAddr  = "MILLSTREAM_ADDR"
	envOrg   = "MILLSTREAM_ORG"
	envToken = "MILLSTREAM_TOKEN"
)

// connection holds the flags that all clients have.
type connection struct {
	addr, org, token, database string
	timeout                    time.Duration
}

// flags adds the flags to a command.
func (c *connection) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.addr, "addr", "", "`URL` of the server's HTTP API (default $"+envAddr+", else "+defaultAddr+")")
	f.StringVar(&c.org, "org", "", "`name` of the org, sent as X-Scope-OrgID (default $"+envOrg+")")
	tokenFlag(f, &c.token)
	f.StringVar(&c.database, "database", "", "`name` of the database (default public)")
	f.DurationVar(&c.timeout, "timeout", 0, "give up a request after this `time` (0 = the server's own limits)")
}

// client returns a client of the server that flags or environment name.
func (c *connection) client() (*client, error) {
	cl, err := newConnection(c.addr, c.token, c.timeout)
	if err != nil {
		return nil, err
	}
	cl.org, cl.database = firstOf(c.org, environment(envOrg)), c.database
	return cl, nil
}

// tokenFlag adds the flag of the credential.
func tokenFlag(f *pflag.FlagSet, token *string) {
	f.StringVar(token, "token", "", "`credential`, sent as Authorization: Bearer (default $"+envToken+", which other users do not see)")
}

// newConnection returns a client without an org.
func newConnection(addr, token string, timeout time.Duration) (*client, error) {
	addr = firstOf(addr, environment(envAddr), defaultAddr)
	if !strings.Contains(addr, "://") {
		addr = "http://" + addr
	}
	u, err := url.Parse(addr)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, usagef("%q is no URL of a server (%s is)", addr, defaultAddr)
	}
	cl := newClient(strings.TrimRight(addr, "/"), "", "", timeout)
	cl.token = firstOf(token, environment(envToken))
	return cl, nil
}

// arguments returns the flags that name the same server, org and database, for commands to copy.
func (c *connection) arguments() string {
	var b strings.Builder
	for _, f := range [...]struct{ name, value string }{{"addr", c.addr}, {"org", c.org}, {"database", c.database}} {
		if f.value != "" {
			b.WriteString(" --" + f.name + " " + shellQuote(f.value))
		}
	}
	return b.String()
}

func shellQuote(s string) string {
	if !strings.ContainsAny(s, " '\"\\$`!*?[](){}<>|&;#~\t\n") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

func environment(name string) string {
	return os.Getenv(name) //nolint:forbidigo // settings of a client, which internal/config does not know
}
