package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/postgres"
	"github.com/millstream/millstream/internal/catalog/sqlite"
	"github.com/millstream/millstream/internal/config"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/lifecycle"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/objstore"
	"github.com/millstream/millstream/internal/objstore/cloud"
)

// platform is what all roles of a process share. It is filled when its stage starts.
type platform struct {
	config  *config.Config
	logger  *slog.Logger
	metrics *prometheus.Registry
	lock    *os.File
	catalog catalog.Catalog
	objects objstore.Store
	limits  *limits.Source
}

func newPlatform(c *config.Config, logger *slog.Logger) *platform {
	p := &platform{
		config: c, logger: logger, metrics: prometheus.NewRegistry(), limits: limits.NewSource(c.Limits, c.LimitOrigins()),
	}
	p.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "millstream_build_info", Help: "Always 1; the label tells the version.", ConstLabels: prometheus.Labels{"version": version},
	})
	info.Set(1)
	p.metrics.MustRegister(info)
	return p
}

// stage locks the data directory and opens catalog and object store.
func (p *platform) stage() lifecycle.Stage {
	return lifecycle.Stage{Name: "platform", Start: p.start, Stop: func(context.Context) error { return p.close() }}
}

func (p *platform) start(ctx context.Context) error {
	if err := p.lockDataDir(); err != nil {
		return err
	}
	if err := p.openCatalog(ctx); err != nil {
		return err
	}
	return p.openObjects(ctx)
}

// lockDataDir makes the data directory and keeps other processes out of it.
func (p *platform) lockDataDir() error {
	dir := p.config.Node.DataDir
	for _, d := range []string{dir, p.stagingDir(), p.tempDir(), p.config.Cache.Dir} {
		if err := os.MkdirAll(d, 0o750); err != nil {
			return fmt.Errorf("make the data directory: %w", err)
		}
	}
	f, err := os.OpenFile(filepath.Join(dir, "LOCK"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("lock the data directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return errors.Join(fault.New(fault.Unavailable, "data directory %s is in use by another process", dir), f.Close())
	}
	p.lock = f
	return p.clearStaging()
}

// clearStaging removes files that a killed process left between writing and upload: their rows are in the log.
func (p *platform) clearStaging() error {
	entries, err := os.ReadDir(p.stagingDir())
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(p.stagingDir(), e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (p *platform) stagingDir() string { return filepath.Join(p.config.Node.DataDir, "staging") }
func (p *platform) tempDir() string    { return filepath.Join(p.config.Node.DataDir, "tmp") }

func (p *platform) openCatalog(ctx context.Context) error {
	var c catalog.Catalog
	var err error
	logger := p.logger.With("component", "catalog")
	if dsn := p.config.MetaDatabase.DSN; dsn != "" {
		c, err = postgres.Open(ctx, postgres.Options{DSN: dsn, Logger: logger})
	} else {
		c, err = sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(p.config.Node.DataDir, "catalog.db"), Logger: logger})
	}
	if err != nil {
		return err
	}
	p.catalog = catalog.Instrument(c, p.metrics)
	return nil
}

func (p *platform) openObjects(ctx context.Context) error {
	o := p.config.ObjectStore
	store, err := cloud.Open(ctx, cloud.Options{
		Backend: cloud.Backend(o.Backend), Root: o.Root, Bucket: o.Bucket, Endpoint: o.Endpoint, Region: o.Region, PathStyle: o.PathStyle,
		AccessKey: o.AccessKey.Reveal(), SecretKey: o.SecretKey.Reveal(),
		MultipartThreshold: o.MultipartThreshold, MultipartPartSize: o.MultipartPartSize,
	}, p.metrics)
	if err != nil {
		return fmt.Errorf("open the object store: %w", err)
	}
	p.objects = store
	if err := cloud.Probe(ctx, store); err != nil {
		return fmt.Errorf("probe the object store: %w", err)
	}
	return nil
}

func (p *platform) close() error {
	var errs []error
	if p.objects != nil {
		errs = append(errs, p.objects.Close())
	}
	if p.catalog != nil {
		errs = append(errs, p.catalog.Close())
	}
	if p.lock != nil {
		errs = append(errs, p.lock.Close())
	}
	return errors.Join(errs...)
}
