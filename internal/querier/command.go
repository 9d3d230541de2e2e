package querier

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/fresh"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/sqlplan"
)

// command answers a statement about databases and streams.
func (r *run) command(ctx context.Context, s sqlplan.Statement) (rows, error) {
	if r.several() {
		return nil, errSeveralOrgs
	}
	if err := r.permit(s); err != nil {
		return nil, err
	}
	switch s := s.(type) {
	case *sqlplan.ShowStreams:
		return r.showStreams(ctx, s)
	case *sqlplan.ShowDatabases:
		return r.showDatabases(ctx, s)
	case *sqlplan.ShowCreateDatabase:
		return r.showCreateDatabase(ctx, s)
	case *sqlplan.Describe:
		return r.describe(ctx, s)
	case *sqlplan.CreateDatabase:
		return r.createDatabase(ctx, s)
	case *sqlplan.AlterDatabase:
		return r.alterDatabase(ctx, s)
	case *sqlplan.AlterStream:
		return r.alterStream(ctx, s)
	case *sqlplan.DropDatabase:
		return r.dropDatabase(ctx, s)
	default:
		return nil, fault.New(fault.Internal, "no answer to a statement of type %T", s)
	}
}

// changed tells of a statement that has changed something.
func (r *run) changed(ctx context.Context, action, object string) {
	r.querier.deps.Changed(ctx, catalog.Change{
		Actor: r.request.Actor, Action: action, Org: string(r.request.Org), Object: object, Detail: r.request.Statement,
	})
}

// permit refuses statements beyond the rights of the request.
func (r *run) permit(s sqlplan.Statement) error {
	switch s.(type) {
	case *sqlplan.CreateDatabase, *sqlplan.AlterDatabase, *sqlplan.AlterStream:
		if !r.request.Change && !r.request.Admin {
			return fault.New(fault.Forbidden, "CREATE and ALTER need a token with the right write or admin")
		}
	case *sqlplan.DropDatabase:
		if !r.request.Admin {
			return fault.New(fault.Forbidden, "DROP DATABASE needs an admin token")
		}
	}
	return nil
}

// showStreams answers with database, signal and stream, sorted.
func (r *run) showStreams(ctx context.Context, s *sqlplan.ShowStreams) (rows, error) {
	database := s.Database
	if database == "" {
		database = r.request.Database
	}
	if database == "" {
		database = signal.DefaultDatabase
	}
	if _, err := r.database(ctx, database); err != nil {
		return nil, err
	}
	streams, err := r.querier.deps.Catalog.Streams(ctx, r.request.Org)
	if err != nil {
		return nil, fmt.Errorf("list streams: %w", err)
	}
	var cells [][]string
	for _, x := range streams {
		if x.Stream.Database == database && x.Name != "" && (!s.HasLike || sqlplan.MatchLike(s.Like, x.Name)) {
			cells = append(cells, []string{x.Stream.Database, x.Signal.String(), x.Name})
		}
	}
	return newStatic([]string{"database", "signal", "stream"}, cells), nil
}

// database finds a database of the org.
func (r *run) database(ctx context.Context, name string) (catalog.Database, error) {
	databases, err := r.querier.deps.Catalog.Databases(ctx, r.request.Org)
	if err != nil {
		return catalog.Database{}, fmt.Errorf("list databases: %w", err)
	}
	for _, d := range databases {
		if d.Name == name {
			return d, nil
		}
	}
	return catalog.Database{}, sqlplan.WithCode(fault.New(fault.NotFound, "unknown database %q", name), sqlplan.CodeDatabaseNotFound)
}

func (r *run) showDatabases(ctx context.Context, s *sqlplan.ShowDatabases) (rows, error) {
	databases, err := r.querier.deps.Catalog.Databases(ctx, r.request.Org)
	if err != nil {
		return nil, fmt.Errorf("list databases: %w", err)
	}
	columns := []string{"Database"}
	if s.Full {
		columns = append(columns, "Options")
	}
	var cells [][]string
	for _, d := range databases {
		if s.HasLike && !sqlplan.MatchLike(s.Like, d.Name) {
			continue
		}
		row := []string{d.Name}
		if s.Full {
			row = append(row, optionLines(d.Options))
		}
		cells = append(cells, row)
	}
	return newStatic(columns, cells), nil
}

// optionLines writes options as 'key'='value', each on a line.
func optionLines(options map[string]string) string {
	lines := make([]string, 0, len(options))
	for _, k := range slices.Sorted(maps.Keys(options)) {
		lines = append(lines, literal(k)+"="+literal(options[k]))
	}
	return strings.Join(lines, "\n")
}

// showCreateDatabase answers in GreptimeDB's words, so that its clients can read it.
func (r *run) showCreateDatabase(ctx context.Context, s *sqlplan.ShowCreateDatabase) (rows, error) {
	d, err := r.database(ctx, s.Database)
	if err != nil {
		return nil, err
	}
	return newStatic([]string{"Database", "Create Database"}, [][]string{{d.Name, createText(d)}}), nil
}

func createText(d catalog.Database) string {
	name := d.Name
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
		name = ident(name)
	}
	text := "CREATE DATABASE IF NOT EXISTS " + name
	if len(d.Options) == 0 {
		return text
	}
	lines := make([]string, 0, len(d.Options))
	for _, k := range slices.Sorted(maps.Keys(d.Options)) {
		key := k
		if strings.Contains(k, ".") {
			key = literal(k)
		}
		lines = append(lines, "  "+key+" = "+literal(d.Options[k]))
	}
	return text + "\nWITH(\n" + strings.Join(lines, ",\n") + "\n)"
}

// describe answers with a stream's columns in the order of SELECT *: the name in SQL, the type of today, the field's own name, and
// all types that its values have had, fresh ones included.
func (r *run) describe(ctx context.Context, s *sqlplan.Describe) (rows, error) {
	names, err := r.names(ctx)
	if err != nil {
		return nil, err
	}
	found, err := s.Resolve(names)
	if err != nil {
		return nil, err
	}
	buffers, err := r.querier.deps.Buffers.Snapshot(ctx, fresh.Request{
		Org: r.request.Org, Datasets: []catalog.DatasetID{found.Dataset}, Start: sqlplan.MinTime, End: sqlplan.MaxTime,
	})
	if err != nil {
		return nil, fmt.Errorf("read fresh rows: %w", err)
	}
	defer buffers.Release()
	r.warnings = append(r.warnings, buffers.Warnings...)
	published, err := r.querier.deps.Catalog.Columns(ctx, found.ID)
	if err != nil {
		return nil, fmt.Errorf("read columns: %w", err)
	}
	x := newStream(found, published, buffers.Uncommitted(nil)[found.Dataset])
	cells := [][]string{{signal.TimeColumn, signal.Timestamp.String(), signal.TimeColumn, signal.Timestamp.String()}}
	for _, c := range x.columns {
		if c.named {
			continue
		}
		var types []string
		for _, t := range c.Types.Types() {
			types = append(types, t.String())
		}
		cells = append(cells, []string{c.Physical, c.typ.String(), c.Name, strings.Join(types, ", ")})
	}
	return newStatic([]string{"column", "type", "field", "types"}, cells), nil
}

func (r *run) createDatabase(ctx context.Context, s *sqlplan.CreateDatabase) (rows, error) {
	_, err := r.querier.deps.Catalog.CreateDatabase(ctx, r.request.Org, s.Database, s.Options)
	switch {
	case errors.Is(err, catalog.ErrDatabaseExists) && s.IfNotExists:
		return newAffected(0), nil
	case errors.Is(err, catalog.ErrDatabaseExists):
		return nil, sqlplan.WithCode(fault.New(fault.Conflict, "database %q exists already", s.Database), sqlplan.CodeDatabaseExists)
	case err != nil:
		return nil, fmt.Errorf("create database: %w", err)
	}
	r.changed(ctx, "database.create", s.Database)
	return newAffected(1), nil
}

func (r *run) alterDatabase(ctx context.Context, s *sqlplan.AlterDatabase) (rows, error) {
	if _, err := r.querier.deps.Catalog.AlterDatabase(ctx, r.request.Org, s.Database, s.Options); err != nil {
		return nil, unknownDatabase(err, "alter", s.Database)
	}
	r.changed(ctx, "database.alter", s.Database)
	return newAffected(0), nil
}

func (r *run) alterStream(ctx context.Context, s *sqlplan.AlterStream) (rows, error) {
	names, err := r.names(ctx)
	if err != nil {
		return nil, err
	}
	found, err := s.Resolve(names)
	if err != nil {
		return nil, err
	}
	if _, err := r.querier.deps.Catalog.AlterStream(ctx, found.Stream, s.Options); err != nil {
		return nil, fmt.Errorf("alter stream: %w", err)
	}
	r.changed(ctx, "stream.alter", found.Stream.Database+"."+found.Signal.String()+"."+found.Name)
	return newAffected(0), nil
}

func (r *run) dropDatabase(ctx context.Context, s *sqlplan.DropDatabase) (rows, error) {
	err := r.querier.deps.Catalog.DropDatabase(ctx, r.request.Org, s.Database)
	switch {
	case errors.Is(err, catalog.ErrNoDatabase) && s.IfExists:
		return newAffected(0), nil
	case err != nil:
		return nil, unknownDatabase(err, "drop", s.Database)
	}
	r.changed(ctx, "database.drop", s.Database)
	return newAffected(1), nil
}

func unknownDatabase(err error, what, name string) error {
	if errors.Is(err, catalog.ErrNoDatabase) {
		return sqlplan.WithCode(fault.New(fault.NotFound, "unknown database %q", name), sqlplan.CodeDatabaseNotFound)
	}
	return fmt.Errorf("%s database: %w", what, err)
}
