package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/internal/rules"
)

// query returns what scan makes of each row of a statement's answer.
func query[T any](ctx context.Context, db conn, scan pgx.RowToFunc[T], statement string, args ...any) ([]T, error) {
	rows, err := db.Query(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	return pgx.AppendRows([]T(nil), rows, scan)
}

// each calls do for each row of a statement's answer.
func each(ctx context.Context, db conn, do func(row pgx.CollectableRow) error, statement string, args ...any) error {
	rows, err := db.Query(ctx, statement, args...)
	if err != nil {
		return err
	}
	return eachRow(rows, do)
}

func eachRow(rows pgx.Rows, do func(row pgx.CollectableRow) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := do(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// exec runs a statement and returns how many rows it changed.
func exec(ctx context.Context, db conn, statement string, args ...any) (int64, error) {
	tag, err := db.Exec(ctx, statement, args...)
	return tag.RowsAffected(), err
}

// segmentScanner returns a scan of segments for one answer.
func segmentScanner() func(row pgx.CollectableRow) (catalog.Segment, error) {
	var columns rules.ColumnDecoder
	return func(row pgx.CollectableRow) (catalog.Segment, error) { return scanSegment(row, &columns) }
}

func scanSegment(row pgx.CollectableRow, decoder *rules.ColumnDecoder) (s catalog.Segment, err error) {
	var (
		columns string
		retired *time.Time
	)
	err = row.Scan(&s.ID, &s.Dataset, &s.Org, &s.Key, &s.Bytes, &s.Rows, &s.MinTime, &s.MaxTime, &s.Partition.Unit, &s.Partition.Start,
		&s.Level, &s.Format, &s.Checksum, &s.RowGroups, &columns, &s.IndexKey, &s.Index, &s.Created, &retired)
	if err != nil {
		return s, err
	}
	s.Created = s.Created.UTC()
	if retired != nil {
		s.Retired = retired.UTC()
	}
	s.Columns, err = decoder.Decode(columns)
	return s, err
}
