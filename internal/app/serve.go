package app

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/millstream/millstream/internal/config"
	"github.com/millstream/millstream/internal/lifecycle"
)

// Serve runs the process until ctx ends and everything has been drained, or a part of it fails.
func Serve(ctx context.Context, c *config.Config, logger *slog.Logger) error {
	if c.Memory.GoLimit > 0 {
		debug.SetMemoryLimit(c.Memory.GoLimit)
	}
	logger.Info("starting", "version", version, "node", c.Node.ID, "roles", c.Node.Roles, "data_dir", c.Node.DataDir)
	if c.WAL.Sync == config.SyncNone {
		logger.Warn("wal.sync is none: acknowledged rows do not survive a power cut")
	}
	g := &lifecycle.Group{DrainTimeout: c.Node.DrainTimeout, Logger: logger.With("component", "lifecycle")}
	newNode(c, logger).addStages(g)
	started := time.Now()
	err := g.Run(ctx)
	logger.Info("stopped", "uptime", time.Since(started).Round(time.Second))
	return err
}
