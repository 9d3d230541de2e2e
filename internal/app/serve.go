package app

import (
	"context"
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/millstream/millstream/internal/config"
	"github.com/millstream/millstream/internal/lifecycle"
)

// routerGCPercent is the collector's pace in processes without buffers. Their live heap is some megabytes, so that at Go's own pace of 100
// every request of a megabyte would bring a collection.
const (
	routerGCPercent = 400
	usualGCPercent  = 100
)

// Serve runs the process until ctx ends and everything has been drained, or a part of it fails. out gets what an operator has to see once
// beside the log: the first admin token.
func Serve(ctx context.Context, c *config.Config, logger *slog.Logger, out io.Writer) error {
	if c.Memory.GoLimit > 0 {
		debug.SetMemoryLimit(c.Memory.GoLimit)
	}
	if !c.Node.Has(config.IntakeRole) {
		// Only if the operator has not chosen (GOGC).
		if chosen := debug.SetGCPercent(routerGCPercent); chosen != usualGCPercent {
			debug.SetGCPercent(chosen)
		}
	}
	logger.Info("starting", "version", version, "node", c.Node.ID, "roles", c.Node.Roles, "data_dir", c.Node.DataDir)
	if c.WAL.Sync == config.SyncNone {
		logger.Warn("wal.sync is none: acknowledged rows do not survive a power cut")
	}
	g := &lifecycle.Group{DrainTimeout: c.Node.DrainTimeout, Logger: logger.With("component", "lifecycle")}
	newNode(c, logger, out).addStages(g)
	started := time.Now()
	err := g.Run(ctx)
	logger.Info("stopped", "uptime", time.Since(started).Round(time.Second))
	return err
}
