package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

// How hard a campaign works. Two cores run the server, its dependencies and the test.
const (
	writersPerLane = 2
	readers        = 2
	maxRequestRows = 60
	writePace      = 10 * time.Millisecond // between two requests of a writer
	failurePace    = 50 * time.Millisecond // after a request that was not acknowledged
	readPace       = 30 * time.Millisecond
	connectTimeout = 5 * time.Second
	laneRounds     = 10 // rounds until the writers turn to new streams
)

// campaign is a store under attack, its writers and its readers.
type campaign struct {
	*testing.T
	server *mstest.Server // of a store of one process
	fronts []front        // what clients talk to: the server, or the routers of a cluster, in turn
	turns  atomic.Uint64
	random *rand.Rand // of the attacker alone
	http   *http.Transport

	gate  sync.RWMutex // held for reading while a request is under way
	state struct {
		sync.Mutex
		lanes    []*lane // being written
		all      []*lane
		problems []string
		answers  int64 // complete ones
		partial  int64 // answers with warnings
		unasked  int64 // questions without an answer
		requests int64 // writes
		refused  int64 // of them, not acknowledged
	}
	work sync.WaitGroup
	halt context.CancelFunc
}

// front is a process that takes client requests.
type front struct {
	*mstest.Server
	grpc *grpc.ClientConn
}

// newCampaign prepares a campaign against a server that may or may not run yet.
func newCampaign(t *testing.T, server *mstest.Server, seed uint64) *campaign {
	t.Helper()
	c := newCampaignOf(t, []*mstest.Server{server}, seed)
	c.server = server
	return c
}

// newCampaignOf prepares a campaign whose clients talk to servers in turn.
func newCampaignOf(t *testing.T, servers []*mstest.Server, seed uint64) *campaign {
	t.Helper()
	t.Logf("seed %d", seed)
	c := &campaign{T: t, random: rand.New(rand.NewPCG(seed, 1)), http: &http.Transport{MaxIdleConnsPerHost: 20}}
	for _, s := range servers {
		conn, err := grpc.NewClient(s.OTLPGRPC, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDisableRetry(), // a number is never sent twice
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: writePace, Multiplier: 1, MaxDelay: writePace},
				MinConnectTimeout: connectTimeout, // else a dial may take no longer than the backoff
			}))
		require.NoError(t, err)
		c.fronts = append(c.fronts, front{s, conn})
	}
	t.Cleanup(func() {
		c.stop()
		c.http.CloseIdleConnections()
		for _, f := range c.fronts {
			require.NoError(t, f.grpc.Close())
		}
	})
	return c
}

// front returns the process whose turn it is.
func (c *campaign) front() front { return c.fronts[c.turns.Add(1)%uint64(len(c.fronts))] }

// seed returns the seed of a campaign: the one asked for, else the given.
func seed(t *testing.T, fixed uint64) uint64 {
	t.Helper()
	return uint64(number(t, "MILLSTREAM_CHAOS_SEED", int(fixed)))
}

// number returns a variable of the environment, which is fallback when it is not set.
func number(t *testing.T, name string, fallback int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, name)
	return n
}

// begin starts writers and readers, which work until the test ends or stop.
func (c *campaign) begin() {
	ctx, cancel := context.WithCancel(c.Context())
	c.halt = cancel
	c.turn(0)
	for i := range c.lanes() {
		for w := range writersPerLane {
			c.work.Go(func() { c.write(ctx, i, rand.New(rand.NewPCG(uint64(i), uint64(w)))) })
		}
	}
	for r := range readers {
		c.work.Go(func() { c.read(ctx, r) })
	}
}

// stop ends writers and readers and waits for them.
func (c *campaign) stop() {
	if c.halt != nil {
		c.halt()
	}
	c.work.Wait()
}

// turn makes the writers go on with new streams, so that statements stay small.
func (c *campaign) turn(generation int) {
	c.gate.Lock()
	defer c.gate.Unlock()
	c.state.Lock()
	defer c.state.Unlock()
	c.state.lanes = newLanes(fmt.Sprintf("_%d", generation))
	c.state.all = append(c.state.all, c.state.lanes...)
}

func (c *campaign) lanes() []*lane {
	c.state.Lock()
	defer c.state.Unlock()
	return c.state.lanes
}

// problem notes what the server did wrong.
func (c *campaign) problem(format string, args ...any) {
	c.state.Lock()
	defer c.state.Unlock()
	const most = 20
	if len(c.state.problems) < most {
		c.state.problems = append(c.state.problems, fmt.Sprintf(format, args...))
	}
}

func (c *campaign) write(ctx context.Context, i int, random *rand.Rand) {
	for ctx.Err() == nil {
		err := c.writeOnce(ctx, i, random)
		if ctx.Err() == nil {
			c.state.Lock()
			c.state.requests++
			if err != nil {
				c.state.refused++
			}
			c.state.Unlock()
		}
		if ctx.Err() == nil && !mayRefuse(err) {
			c.problem("write: %v", err)
		}
		rest := writePace
		if err != nil {
			rest = failurePace
		}
		select {
		case <-time.After(rest):
		case <-ctx.Done():
		}
	}
}

// mayRefuse reports whether a good request may end so: acknowledged, no answer, or 503 with the time of another try.
func mayRefuse(err error) bool {
	if answer, ok := errors.AsType[*mstest.StatusError](err); ok {
		return answer.Status == http.StatusServiceUnavailable && answer.Header.Get("Retry-After") != ""
	}
	return err == nil || errors.Is(err, mstest.ErrNoAnswer) || status.Code(err) == codes.Unavailable
}

func (c *campaign) writeOnce(ctx context.Context, i int, random *rand.Rand) error {
	c.gate.RLock()
	defer c.gate.RUnlock()
	l := c.lanes()[i]
	s := l.take(1 + random.Int64N(maxRequestRows))
	err := l.send(ctx, c.wire(l), s)
	if err == nil {
		l.ack(s)
	}
	return err
}

func (c *campaign) wire(l *lane) wire {
	f := c.front()
	client := f.Client(l.org)
	client.Transport = c.http
	return wire{lane: l, client: client, grpc: f.grpc}
}

// read asks for counts. An answer may fail to come, but must not be wrong.
func (c *campaign) read(ctx context.Context, r int) {
	pace := time.NewTicker(readPace)
	defer pace.Stop()
	for i := r; ctx.Err() == nil; i++ {
		lanes := c.lanes()
		l := lanes[i%len(lanes)]
		if err := c.count(ctx, l); err != nil && ctx.Err() == nil {
			c.problem("read %s: %v", l, err)
		}
		select {
		case <-pace.C:
		case <-ctx.Done():
		}
	}
}

// count asks once and returns what is wrong with the answer.
func (c *campaign) count(ctx context.Context, l *lane) error {
	floor := l.floor()
	statement := fmt.Sprintf("SELECT count(*), count(DISTINCT %s), coalesce(max(%s), 0) FROM %s", l.number, l.number, l.from)
	a, err := c.wire(l).client.Ask(ctx, statement)
	var answer *mstest.StatusError
	switch {
	case errors.As(err, &answer) && floor == 0 && (answer.Status == http.StatusNotFound || answer.Status == http.StatusBadRequest):
		return nil // the first row, which brings stream and column, has not come yet
	case errors.As(err, &answer) && answer.Status != http.StatusServiceUnavailable && answer.Status != http.StatusGatewayTimeout:
		return err
	case err != nil && answer == nil && !errors.Is(err, mstest.ErrNoAnswer):
		return err
	case err != nil, len(a.Warnings) > 0:
		c.state.Lock()
		defer c.state.Unlock()
		if err != nil {
			c.state.unasked++
		} else {
			c.state.partial++
		}
		return nil // the server is away, or says itself that rows may be missing
	}
	c.state.Lock()
	c.state.answers++
	c.state.Unlock()
	var n [3]int64
	for i := range n {
		if n[i], err = integer(a.Rows[0][i]); err != nil {
			return err
		}
	}
	return l.judge(floor, n[0], n[1], n[2])
}

// figures logs what the campaign has done.
func (c *campaign) figures(rounds int, began time.Time) {
	c.state.Lock()
	defer c.state.Unlock()
	var sent, acked, there int64
	for _, l := range c.state.all {
		s, a := l.totals()
		_, t := l.standing()
		sent, acked, there = sent+s, acked+a, there+t
	}
	c.Logf("%d rounds in %v: %d rows sent, %d acknowledged, %d stored, none lost, none doubled",
		rounds, time.Since(began).Round(time.Second), sent, acked, there)
	c.Logf("%d requests, %d of them not acknowledged; counts while they flowed: %d complete, %d with warnings, %d not answered",
		c.state.requests, c.state.refused, c.state.answers, c.state.partial, c.state.unasked)
}
