package chaos_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mstest"
	"github.com/millstream/millstream/internal/testkit/netproxy"
	"github.com/millstream/millstream/internal/testkit/pgtest"
	"github.com/millstream/millstream/internal/testkit/s3test"
)

// servers are what a program with a PostgreSQL catalog and S3 objects needs, each behind a proxy.
type servers struct {
	postgres *pgtest.Server
	s3       *s3test.Server
	toPG     *netproxy.Proxy
	toS3     *netproxy.Proxy
}

// TestServers takes PostgreSQL and S3 away while rows flow.
func TestServers(t *testing.T) {
	t.Parallel()
	serverRounds(t, seed(t, 2), 6)
}

func startServers(t *testing.T) *servers {
	t.Helper()
	s := &servers{postgres: pgtest.Start(t), s3: s3test.Start(t)}
	s.toPG, s.toS3 = netproxy.Start(t, s.postgres.Addr()), netproxy.Start(t, s.s3.Endpoint)
	return s
}

// objects are the settings of the S3 store.
func (s *servers) objects(env map[string]string) map[string]string {
	env["MS_OBJECT_STORE_BACKEND"], env["MS_OBJECT_STORE_ENDPOINT"] = "s3", "http://"+s.toS3.Addr()
	env["MS_OBJECT_STORE_BUCKET"], env["MS_OBJECT_STORE_REGION"], env["MS_OBJECT_STORE_PATH_STYLE"] = s.s3.Bucket, s.s3.Region, "true"
	env["MS_OBJECT_STORE_ACCESS_KEY"], env["MS_OBJECT_STORE_SECRET_KEY"] = s.s3.AccessKey, s.s3.SecretKey
	return env
}

// catalog are the settings of the PostgreSQL catalog.
func (s *servers) catalog(t *testing.T, env map[string]string) map[string]string {
	t.Helper()
	dsn, err := url.Parse(s.postgres.DSN())
	require.NoError(t, err)
	dsn.Host = s.toPG.Addr()
	env["MS_META_DATABASE_DSN"] = dsn.String()
	return env
}

func serverRounds(t *testing.T, seed uint64, rounds int) {
	t.Helper()
	s := startServers(t)
	c := newCampaign(t, mstest.Start(t, mstest.Config{Env: s.catalog(t, s.objects(restless()))}), seed)
	c.begin()
	began := time.Now()
	strikes := c.serverStrikes(s)
	for round := range rounds {
		if round > 0 && round%laneRounds == 0 {
			c.turn(round / laneRounds)
		}
		if round%len(strikes) == 0 { // each comes once before any comes again
			c.random.Shuffle(len(strikes), func(i, j int) { strikes[i], strikes[j] = strikes[j], strikes[i] })
		}
		strike := strikes[round%len(strikes)]
		c.rest(500)
		strike.run()
		if !c.server.Running() {
			require.True(t, strike.kills, "it ended by itself after %s", strike.name)
			require.NoError(t, c.server.Start(t.Context()), "start after %s", strike.name)
		}
		t.Logf("round %d: %s", round, strike.name)
		c.verify()
	}
	c.stop()
	require.NoError(t, c.server.Restart(t.Context()))
	c.verifyAll()
	c.figures(rounds, began)
}

// strike is a way to take something away; run returns when it is back. The program may have been killed only if kills is set.
type strike struct {
	name  string
	kills bool
	run   func()
}

func (c *campaign) serverStrikes(s *servers) []strike {
	away := func(p *netproxy.Proxy, m netproxy.Mode) func() {
		return func() {
			p.Set(m)
			c.rest(3000)
			p.Set(netproxy.Pass)
		}
	}
	return []strike{
		{"a kill", true, func() { c.rest(1500); c.server.Kill() }},
		{"S3 refusing", false, away(s.toS3, netproxy.Refuse)},
		{"S3 hanging", false, away(s.toS3, netproxy.Stall)},
		{"S3 killed", false, func() { s.s3.Kill(); c.rest(3000); require.NoError(c, s.s3.Start(c.Context())) }},
		{"a kill while S3 hangs", true, c.killWhile(s.toS3, netproxy.Stall)},
		{"PostgreSQL restarted", false, func() { require.NoError(c, s.postgres.Restart(c.Context())) }},
		{"PostgreSQL killed", false, func() { s.postgres.Kill(); c.rest(2000); require.NoError(c, s.postgres.Start(c.Context())) }},
		{"PostgreSQL refusing", false, away(s.toPG, netproxy.Refuse)},
		{"PostgreSQL hanging", false, away(s.toPG, netproxy.Stall)},
		{"a kill while PostgreSQL hangs", true, c.killWhile(s.toPG, netproxy.Stall)},
		{"a kill before a commit arrives", true, c.killAtCommit(s.toPG, netproxy.BeforeServer)},
		{"a kill before a commit's answer", true, c.killAtCommit(s.toPG, netproxy.AfterServer)},
		{"a lost commit", false, c.loseCommit(s.toPG, netproxy.BeforeServer)},
		{"a lost answer of a commit", false, c.loseCommit(s.toPG, netproxy.AfterServer)},
	}
}

func (c *campaign) killWhile(p *netproxy.Proxy, m netproxy.Mode) func() {
	return func() {
		p.Set(m)
		c.rest(2500)
		c.server.Kill()
		p.Set(netproxy.Pass)
	}
}

// What a transaction that registers files shows on the wire: a key, then its end.
const (
	keyMark    = ".parquet"
	commitMark = "commit\x00"
)

// killAtCommit kills the program between the upload of files and the moment it knows that they are registered (case K06).
func (c *campaign) killAtCommit(p *netproxy.Proxy, side netproxy.Side) func() {
	return func() {
		<-p.HoldAt(side, keyMark, commitMark)
		c.rest(300)
		c.server.Kill()
	}
}

// loseCommit cuts the connection at a commit, so that the program has to find out what became of it.
func (c *campaign) loseCommit(p *netproxy.Proxy, side netproxy.Side) func() {
	return func() {
		<-p.HoldAt(side, keyMark, commitMark)
		c.rest(300)
		p.Set(netproxy.Refuse)
		c.rest(200)
		p.Set(netproxy.Pass)
	}
}
