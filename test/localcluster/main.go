// Command localcluster runs a whole cluster on this machine: PostgreSQL, an S3 server, and one millstream process a role, all on
// loopback. It prints how to use them and runs until it is interrupted; then it stops the processes in order.
//
//	localcluster -program bin/millstream -dir data/cluster
//
// The database is a temporary one without fsync, so the cluster is for trying things out: it begins empty at every start.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/millstream/millstream/internal/testkit/pgtest"
	"github.com/millstream/millstream/internal/testkit/proctest"
	"github.com/millstream/millstream/internal/testkit/s3test"
)

func main() {
	program := flag.String("program", "bin/millstream", "`path` of the program")
	dir := flag.String("dir", "data/cluster", "`folder` for data and logs; it is emptied at the start")
	roles := flag.String("roles", "router,router,intake,intake,intake,querier,querier,compactor,compactor,alert",
		"one process for each `role` named")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *program, *dir, strings.Split(*roles, ","), os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "localcluster:", err)
		os.Exit(1)
	}
}

// node is one process.
type node struct {
	id, role                   string
	http, otlp, otlpGRPC, peer int // ports
	process                    *proctest.Process
}

// run starts everything and stops it when ctx ends.
func run(ctx context.Context, program, dir string, roles []string, out io.Writer) (err error) {
	program, err = filepath.Abs(program)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	database, err := pgtest.Launch(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	objects, err := s3test.Launch(ctx, filepath.Join(dir, "s3"))
	if err != nil {
		return err
	}
	defer objects.Stop()
	env := []string{
		"MS_META_DATABASE_DSN=" + database.DSN(), "MS_CLUSTER_TOKEN=" + proctest.Secret(), "MS_OBJECT_STORE_BACKEND=s3",
		"MS_OBJECT_STORE_ENDPOINT=http://" + objects.Endpoint, "MS_OBJECT_STORE_PATH_STYLE=true", "MS_OBJECT_STORE_BUCKET=" + objects.Bucket,
		"MS_OBJECT_STORE_REGION=" + objects.Region, "MS_OBJECT_STORE_ACCESS_KEY=" + objects.AccessKey,
		"MS_OBJECT_STORE_SECRET_KEY=" + objects.SecretKey,
	}
	nodes := plan(roles)
	defer stopAll(nodes)
	for _, n := range nodes {
		if err := n.start(ctx, program, dir, env); err != nil {
			return fmt.Errorf("start %s: %w", n.id, err)
		}
		fmt.Fprintf(out, "%-4s %-10s http://127.0.0.1:%d\n", n.id, n.role, n.http)
	}
	usage(out, program, dir, database.DSN(), nodes)
	return wait(ctx, nodes)
}

// plan gives every process a name and ports: the first router has the usual ones, each other process its own ten.
func plan(roles []string) []*node {
	count := make(map[string]int)
	var nodes []*node
	next := 5100
	for _, role := range roles {
		count[role]++
		n := &node{id: role[:1] + strconv.Itoa(count[role]), role: role, http: next, otlp: next + 1, otlpGRPC: next + 2, peer: next + 3}
		if role == "router" && count[role] == 1 {
			n.http, n.otlp, n.otlpGRPC = 5080, 4318, 4317
		}
		next += 10
		nodes = append(nodes, n)
	}
	// Routers come last: they are ready when there is something to hand requests to.
	slices.SortStableFunc(nodes, func(a, b *node) int {
		rank := func(n *node) int { return map[bool]int{true: 1}[n.role == "router"] }
		return rank(a) - rank(b)
	})
	return nodes
}

func (n *node) start(ctx context.Context, program, dir string, env []string) error {
	own := []string{
		"MS_NODE_ID=" + n.id, "MS_NODE_ROLES=" + n.role, "MS_NODE_DATA_DIR=" + filepath.Join(dir, n.id),
		"MS_HTTP_PORT=" + strconv.Itoa(n.http), "MS_OTLP_HTTP_PORT=" + strconv.Itoa(n.otlp), "MS_OTLP_GRPC_PORT=" + strconv.Itoa(n.otlpGRPC),
		"MS_GRPC_PORT=" + strconv.Itoa(n.peer),
	}
	outside := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MS_") })
	var err error
	n.process, err = proctest.Start(ctx, proctest.Config{
		Path: program, Env: slices.Concat(outside, env, own), LogPath: filepath.Join(dir, n.id+".log"),
		Ready: func(ctx context.Context) error { return ready(ctx, n.http) },
	})
	return err
}

func ready(ctx context.Context, port int) error {
	url := "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) + "/api/v1/readyz"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("readyz: status %d", res.StatusCode)
	}
	return nil
}

func usage(out io.Writer, program, dir, dsn string, nodes []*node) {
	router := nodes[slices.IndexFunc(nodes, func(n *node) bool { return n.role == "router" || n == nodes[len(nodes)-1] })]
	fmt.Fprintf(out, `
Logs of the processes lie in %s. Send to any router, for example:

  curl -H 'Content-Type: application/json' -d '[{"message":"hello"}]' http://127.0.0.1:%d/api/v1/intake/logs/app
  curl -d 'SELECT * FROM app' -H 'Content-Type: application/sql' http://127.0.0.1:%d/api/v1/query
  %s cluster nodes --dsn '%s'

Ctrl-C stops everything.
`, dir, router.http, router.http, program, dsn)
}

// wait returns when ctx ends or a process ends by itself.
func wait(ctx context.Context, nodes []*node) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
		for _, n := range nodes {
			select {
			case <-n.process.Exited():
				fmt.Fprintf(os.Stderr, "%s has ended; its log tells why\n", n.id)
				<-ctx.Done()
				return nil
			default:
			}
		}
	}
}

// stopAll stops routers first, so that nobody hands on what nobody takes.
func stopAll(nodes []*node) {
	for _, n := range slices.Backward(nodes) {
		if n.process != nil {
			n.process.Stop()
		}
	}
}
