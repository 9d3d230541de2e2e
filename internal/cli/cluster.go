package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millstream/millstream/internal/auth"
	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/postgres"
	"github.com/millstream/millstream/internal/cluster"
	clusterpg "github.com/millstream/millstream/internal/cluster/postgres"
	"github.com/millstream/millstream/internal/cluster/slot"
	"github.com/millstream/millstream/internal/config"
)

// clusterOptions are what all cluster commands share.
type clusterOptions struct {
	config *string
	dsn    string
	listing
}

func clusterCommand(path *string, s Streams) *cobra.Command {
	o := &clusterOptions{config: path, listing: listing{Streams: s}}
	cmd := &cobra.Command{
		Use: "cluster", Short: "Look at the nodes of a cluster and drain them",
		Long: `Look at the nodes of a cluster and drain them.

These commands talk to the cluster's PostgreSQL, not to a node: they work from every machine that reaches it, also when no router
does. The database is meta_database.dsn of the settings, or --dsn.`,
	}
	cmd.PersistentFlags().StringVar(&o.dsn, "dsn", "", "PostgreSQL `URL` of the cluster (default: meta_database.dsn of the settings)")
	o.addFlag(cmd.PersistentFlags())
	cmd.AddCommand(o.nodes(), o.topology(), o.slots(), o.drain(), o.forget())
	return cmd
}

// settings returns the database's URL and the peer timeout.
func (o *clusterOptions) settings() (dsn string, peerTimeout time.Duration, err error) {
	if err := o.check(); err != nil {
		return "", 0, err
	}
	c, _, err := config.Load(config.FromProcess(*o.config))
	switch {
	case o.dsn != "" && err != nil:
		return o.dsn, cluster.DefaultPeerTimeout, nil // settings of a node that is not here
	case err != nil:
		return "", 0, err
	case o.dsn != "":
		return o.dsn, c.Cluster.PeerTimeout, nil
	case c.MetaDatabase.DSN == "":
		return "", 0, usagef("no database: set meta_database.dsn (MS_META_DATABASE_DSN) or --dsn; a standalone process without PostgreSQL " +
			"is no cluster")
	}
	return c.MetaDatabase.DSN, c.Cluster.PeerTimeout, nil
}

// with calls f with the store of the members.
func (o *clusterOptions) with(ctx context.Context, f func(ctx context.Context, s *clusterpg.Store) error) (err error) {
	dsn, peerTimeout, err := o.settings()
	if err != nil {
		return err
	}
	store, err := clusterpg.Open(ctx, clusterpg.Options{DSN: dsn, PeerTimeout: peerTimeout})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return f(ctx, store)
}

func (o *clusterOptions) nodes() *cobra.Command {
	return &cobra.Command{
		Use: "nodes", Short: "List the processes, members or not", Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.with(cmd.Context(), func(ctx context.Context, s *clusterpg.Store) error {
				view, err := s.Observe(ctx, 0)
				if err != nil {
					return err
				}
				statuses, err := s.Statuses(ctx)
				if err != nil {
					return err
				}
				return o.print(statuses, func(w io.Writer) { printNodes(w, view, statuses) })
			})
		},
	}
}

func printNodes(w io.Writer, view *cluster.View, statuses []cluster.Status) {
	states := make(map[string]cluster.State)
	for _, n := range view.Nodes() {
		states[n.ID] = n.State
	}
	fmt.Fprintln(w, "NODE\tROLES\tSTATE\tINTERNAL\tHTTP\tINCARNATION\tHEARTBEAT\tPHASE\tUNFLUSHED\tVERSION")
	for _, s := range statuses {
		state, ok := states[s.ID]
		if !ok {
			state = cluster.StateSilent
			if s.State != cluster.StateSilent {
				state = cluster.StateJoining
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s ago\t%s\t%d\t%s\n", s.ID, joinRoles(s.Roles), state, dash(s.Address), dash(s.HTTPAddress),
			s.Incarnation, s.Silence.Round(100*time.Millisecond), dash(s.Phase), s.UnflushedRows, dash(s.Version))
	}
	fmt.Fprintf(w, "epoch %d\n", view.Epoch)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func joinRoles(roles []cluster.Role) string {
	out := make([]string, len(roles))
	for i, r := range roles {
		out[i] = string(r)
	}
	return strings.Join(out, ",")
}

func (o *clusterOptions) topology() *cobra.Command {
	return &cobra.Command{
		Use: "topology", Short: "Show the member lists of the current epoch", Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.with(cmd.Context(), func(ctx context.Context, s *clusterpg.Store) error {
				view, err := s.Observe(ctx, 0)
				if err != nil {
					return err
				}
				return o.print(cluster.NewTopology(view, time.Now()), func(w io.Writer) {
					fmt.Fprintf(w, "epoch\t%d\n", view.Epoch)
					for _, r := range cluster.Roles() {
						if members, joining := ids(view.Members[r]), ids(view.Joining[r]); members+joining != "" {
							fmt.Fprintf(w, "%s\t%s\n", r, members)
							if joining != "" {
								fmt.Fprintf(w, "%s (joining)\t%s\n", r, joining)
							}
						}
					}
				})
			})
		},
	}
}

func ids(nodes []cluster.Node) string {
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = n.ID
	}
	return strings.Join(out, " ")
}

func (o *clusterOptions) slots() *cobra.Command {
	var org, database, sig, stream, number string
	cmd := &cobra.Command{
		Use: "slots", Short: "Show how many slots each intake node owns, or who owns one",
		Example: `  millstream cluster slots
  millstream cluster slots --slot 12182
  millstream cluster slots --org acme --signal logs --stream nginx`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			at := -1
			switch {
			case number != "":
				n, err := strconv.Atoi(number)
				if err != nil || n < 0 || n >= slot.Count {
					return usagef("--slot %q is not a number from 0 to %d", number, slot.Count-1)
				}
				at = n
			case stream != "" && org != "":
				at = int(slot.Of(org, database, sig, stream))
			case stream != "" || org != "":
				return usagef("--org and --stream come together")
			}
			return o.with(cmd.Context(), func(ctx context.Context, s *clusterpg.Store) error {
				view, err := s.Observe(ctx, 0)
				if err != nil {
					return err
				}
				if at >= 0 {
					return o.printOwners(view, uint16(at))
				}
				return o.print(view.Shares(), func(w io.Writer) {
					fmt.Fprintln(w, "NODE\tSLOTS\tSHARE")
					for _, x := range view.Shares() {
						fmt.Fprintf(w, "%s\t%d\t%.1f%%\n", x.Node, x.Slots, 100*x.Share)
					}
				})
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&number, "slot", "", "`number` of a slot")
	f.StringVar(&org, "org", "", "`org` of a stream")
	f.StringVar(&database, "database", slot.DefaultDatabase, "`database` of a stream")
	f.StringVar(&sig, "signal", "logs", "`signal` of a stream: logs, metrics or traces")
	f.StringVar(&stream, "stream", "", "`name` of a stream")
	return cmd
}

// printOwners shows the nodes that are tried for a slot, in order.
func (o *clusterOptions) printOwners(view *cluster.View, at uint16) error {
	const tried = 3
	owners := view.Owners(at, tried)
	names := make([]string, len(owners))
	for i, n := range owners {
		names[i] = n.ID
	}
	answer := map[string]any{"epoch": view.Epoch, "slot": at, "owners": names}
	return o.print(answer, func(w io.Writer) { fmt.Fprintf(w, "slot\t%d\nowners\t%s\n", at, strings.Join(names, " ")) })
}

func (o *clusterOptions) drain() *cobra.Command {
	var wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "drain NODE", Short: "Take a node out of the cluster and flush its rows",
		Long: `Take a node out of the cluster and flush its rows.

The node obeys at its next heartbeat: it leaves the member lists, finishes the requests under way, and writes all rows that it holds
into files. The process goes on, empty and not ready, until it is stopped; stopping it then loses nothing and takes no time.`,
		Example: "  millstream cluster drain i2 --wait",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd.Context(), func(ctx context.Context, s *clusterpg.Store) error {
				d, err := s.RequestDrain(ctx, args[0])
				if err != nil {
					return err
				}
				if err := o.auditDrain(ctx, args[0]); err != nil {
					return err
				}
				if wait {
					ctx, cancel := context.WithTimeout(ctx, timeout)
					defer cancel()
					if d, err = o.awaitDrain(ctx, s, args[0]); err != nil {
						return err
					}
				}
				return o.print(d, func(w io.Writer) { fmt.Fprintln(w, drainText(d)) })
			})
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the node holds no rows")
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "with --wait: give up after this `time`")
	return cmd
}

// audit records a change of the command line.
func (o *clusterOptions) audit(ctx context.Context, c catalog.Access, change catalog.Change) {
	change.Actor = operatorName()
	auth.NewAudit(c, slog.New(slog.DiscardHandler)).Record(ctx, change)
}

func (o *clusterOptions) auditDrain(ctx context.Context, node string) (err error) {
	dsn, _, err := o.settings()
	if err != nil {
		return err
	}
	c, err := postgres.Open(ctx, postgres.Options{DSN: dsn})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	o.audit(ctx, c, catalog.Change{Action: "node.drain", Object: node})
	return nil
}

func drainText(d cluster.Drain) string {
	if !d.Ended.IsZero() {
		return d.Node + " is drained"
	}
	phase := d.Phase
	if phase == "" {
		phase = "asked"
	}
	return fmt.Sprintf("%s: %s, %d rows to flush", d.Node, phase, d.UnflushedRows)
}

// awaitDrain polls until the drain of a node has ended, telling how far it is.
func (o *clusterOptions) awaitDrain(ctx context.Context, s *clusterpg.Store, node string) (cluster.Drain, error) {
	last := ""
	for {
		all, err := s.Drains(ctx)
		if err != nil {
			return cluster.Drain{}, err
		}
		for _, d := range all {
			if d.Node != node {
				continue
			}
			if !d.Ended.IsZero() {
				return d, nil
			}
			if text := drainText(d); text != last && o.output == "table" {
				fmt.Fprintln(o.Err, text)
				last = text
			}
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return cluster.Drain{}, fmt.Errorf("wait for the drain of %s: %w (%s)", node, ctx.Err(), dash(last))
		}
	}
}

func (o *clusterOptions) forget() *cobra.Command {
	var epoch int64
	cmd := &cobra.Command{
		Use: "forget NODE", Short: "Give up the rows of a node whose volume is lost",
		Long: `Give up the rows of a node whose volume is lost.

Answers carry a warning as long as a writer epoch that may hold rows cannot be read. When the log of that epoch is lost for good,
forget ends the epoch: the warning goes away, and so do the rows that were acknowledged and not flushed. Should the log come back
nevertheless, its rows are published all the same.`,
		Example: "  millstream cluster forget i2 --epoch 17",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if epoch <= 0 {
				return usagef("--epoch is missing: the warning of an answer names it")
			}
			return o.forgetEpoch(cmd.Context(), args[0], epoch)
		},
	}
	cmd.Flags().Int64Var(&epoch, "epoch", 0, "the writer `epoch` to end")
	return cmd
}

func (o *clusterOptions) forgetEpoch(ctx context.Context, node string, epoch int64) (err error) {
	dsn, _, err := o.settings()
	if err != nil {
		return err
	}
	c, err := postgres.Open(ctx, postgres.Options{DSN: dsn})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	writers, err := c.Writers(ctx)
	if err != nil {
		return err
	}
	for _, w := range writers {
		if w.Node == node && w.Epoch == epoch {
			if err := c.EndWriter(ctx, node, epoch); err != nil {
				return err
			}
			o.audit(ctx, c, catalog.Change{Action: "writer.forget", Object: node, Detail: fmt.Sprintf("epoch %d", epoch)})
			fmt.Fprintf(o.Out, "node %s epoch %d is forgotten\n", node, epoch)
			return nil
		}
	}
	return usagef("no writer epoch %d of node %s is listed", epoch, node)
}
