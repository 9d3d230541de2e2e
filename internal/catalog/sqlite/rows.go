package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/internal/rules"
	"github.com/millstream/millstream/internal/fault"
)

// query returns what scan makes of each row of a statement's answer.
func query[T any](ctx context.Context, tx *sql.Tx, scan func(*sql.Rows) (T, error), statement string, args ...any) (out []T, err error) {
	rows, err := tx.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// exec runs a statement and returns how many rows it changed.
func exec(ctx context.Context, tx *sql.Tx, statement string, args ...any) (int64, error) {
	r, err := tx.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// array returns the JSON array that statements open with json_each.
func array[T any](items []T) (string, error) {
	if len(items) == 0 {
		return "[]", nil
	}
	text, err := json.Marshal(items)
	if err != nil {
		return "", fault.Wrap(fault.Internal, err, "encode a list")
	}
	return string(text), nil
}

// segmentScanner returns a scan of segments for one answer.
func segmentScanner() func(rows *sql.Rows) (catalog.Segment, error) {
	var columns rules.ColumnDecoder
	return func(rows *sql.Rows) (catalog.Segment, error) { return scanSegment(rows, &columns) }
}

func scanSegment(rows *sql.Rows, decoder *rules.ColumnDecoder) (s catalog.Segment, err error) {
	var (
		columns string
		created int64
		retired sql.NullInt64
	)
	err = rows.Scan(&s.ID, &s.Dataset, &s.Org, &s.Key, &s.Bytes, &s.Rows, &s.MinTime, &s.MaxTime, &s.Partition.Unit, &s.Partition.Start,
		&s.Level, &s.Format, &s.Checksum, &s.RowGroups, &columns, &s.IndexKey, &s.Index, &created, &retired)
	if err != nil {
		return s, err
	}
	s.Created = moment(created)
	if retired.Valid {
		s.Retired = moment(retired.Int64)
	}
	s.Columns, err = decoder.Decode(columns)
	return s, err
}

func scanID[T ~int64 | ~string](rows *sql.Rows) (id T, err error) {
	err = rows.Scan(&id)
	return id, err
}

// moment returns the time of a stored number of microseconds.
func moment(micros int64) time.Time { return time.UnixMicro(micros).UTC() }
