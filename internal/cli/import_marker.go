package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millstream/millstream/internal/signal"
)

// Bounds of the condition that finds rows again.
const (
	markerRows   = 3   // first, middle and last, since any one may be refused
	markerFields = 6   // of a row
	markerText   = 256 // bytes of a value
)

// timeFields are the names under which JSON rows give their time, first match wins (api.md).
func timeFields() []string {
	return []string{"_timestamp", "@timestamp", "timestamp", "time", "_time", "ts"}
}

// marker returns a condition of SQL that some rows of the batch fulfill and as few others as possible; it is empty if the rows have
// nothing to tell them by. now bounds the time of rows that carry none.
func marker(b *batch, now time.Time) string {
	var conditions []string
	last := b.rows() - 1
	for _, i := range [markerRows]int{0, last / 2, last} {
		if c := rowCondition(b.row(i), now); c != "" && !slices.Contains(conditions, c) {
			conditions = append(conditions, c)
		}
	}
	return strings.Join(conditions, " OR ")
}

// rowCondition describes one row by its time and its plain fields.
func rowCondition(text []byte, now time.Time) string {
	var row map[string]json.RawMessage
	if json.Unmarshal(text, &row) != nil {
		return ""
	}
	terms := []string{timeCondition(row, now)}
	names := make([]string, 0, len(row))
	for name := range row {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if len(terms) > markerFields {
			break
		}
		if term := fieldCondition(name, row[name]); term != "" {
			terms = append(terms, term)
		}
	}
	if len(terms) == 1 {
		return ""
	}
	return "(" + strings.Join(terms, " AND ") + ")"
}

// timeCondition bounds the row's time to the microsecond that columns hold; a row without a time gets that of its receipt.
func timeCondition(row map[string]json.RawMessage, now time.Time) string {
	const skew = 10 * time.Minute // between the clocks of client and server
	for _, name := range timeFields() {
		value, ok := row[name]
		if !ok || string(value) == "null" {
			continue
		}
		nanos, err := signal.ParseTime([]byte(strings.Trim(string(value), `"`)))
		if err != nil {
			break
		}
		at := time.Unix(0, nanos).UTC()
		return fmt.Sprintf("_timestamp >= '%s' AND _timestamp <= '%s'", at.Add(-time.Microsecond).Format(time.RFC3339Nano),
			at.Add(time.Microsecond).Format(time.RFC3339Nano))
	}
	return fmt.Sprintf("_timestamp >= '%s'", now.Add(-skew).UTC().Format(time.RFC3339Nano))
}

// fieldCondition compares a column with a text or number; the column may have been widened to text or JSON. It is empty for others.
func fieldCondition(name string, value json.RawMessage) string {
	if strings.HasPrefix(name, "_") || slices.Contains(timeFields(), name) || len(value) > markerText {
		return ""
	}
	column := "CAST(" + quoteName(name) + " AS VARCHAR)"
	var text string
	if json.Unmarshal(value, &text) == nil && text != "" {
		return fmt.Sprintf("%s IN (%s, %s)", column, quoteText(text), quoteText(string(value)))
	}
	if n, err := strconv.ParseFloat(string(value), 64); err == nil {
		return fmt.Sprintf("TRY_CAST(%s AS DOUBLE) = %s", column, strconv.FormatFloat(n, 'g', -1, 64))
	}
	return ""
}
