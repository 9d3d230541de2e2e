package query_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/signal"
)

// BenchmarkSmallAnswers asks for little of a stream with a few files: what is measured is what every statement costs.
func BenchmarkSmallAnswers(b *testing.B) {
	s := newStore(b, storeOptions{})
	web := logs("acme", "web")
	for file := range 20 {
		var rows []row
		for n := range 2000 {
			rows = append(rows, row{
				signal.TimeColumn: now.Add(-time.Duration(file*2000+n) * time.Millisecond), "level": []string{"info", "error"}[n%2],
				"trace_id": fmt.Sprintf("%032x", file*2000+n), "message": fmt.Sprintf("request r%d of user u%d", file*2000+n, n%7),
			})
		}
		s.Write(web, rows...)
		s.Flush()
	}
	for name, sql := range map[string]string{
		"one": "SELECT 1", "count": "SELECT count(*) FROM web", "trace": fmt.Sprintf("SELECT * FROM web WHERE trace_id = '%032x'", 12345),
		"newest": "SELECT * FROM web ORDER BY _timestamp DESC LIMIT 10",
		"word":   "SELECT count(*) FROM web WHERE match(message, 'r12345')", "levels": "SELECT level, count(*) FROM web GROUP BY level",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				a, err := s.try(b.Context(), request(sql))
				require.NoError(b, err)
				require.NotEmpty(b, a.rows)
			}
		})
	}
}
