package main

import "fmt"

// A question is one row of the table that is asked of every server over and over.
type question struct {
	name   string
	sql    string // of a question about metrics: PromQL, which all servers take
	logsQL string
	fields []string // of the answer, under the names of the SQL; empty: the servers' answers are not compared
	goal   float64  // wanted of the ratio to the peer, at most
}

// questions are those of a person before a log page: totals, histograms, one word, one trace, the newest errors. All rows lie within
// an hour and every question is about all of it.
func questions(traceID string) []question {
	all := []string{"_timestamp", "service", "level", "host", "pod", "trace_id", "status", "duration_ms", "message"}
	return []question{
		{
			"count of everything", `SELECT count(*) AS n FROM bench`, `* | stats count() n`, []string{"n"}, 0.2,
		},
		{
			"count by level", `SELECT level, count(*) AS n FROM bench GROUP BY level`,
			`* | stats by (level) count() n`,
			[]string{"level", "n"},
			0.3,
		},
		{
			"count by service and level", `SELECT service, level, count(*) AS n FROM bench GROUP BY service, level`,
			`* | stats by (service, level) count() n`,
			[]string{"service", "level", "n"},
			0.3,
		},
		{
			"errors by host, top 10",
			`SELECT host, count(*) AS n FROM bench WHERE level = 'error' GROUP BY host ORDER BY n DESC, host LIMIT 10`,
			`level:=error | stats by (host) count() n | sort by (n desc, host) | limit 10`,
			[]string{"host", "n"},
			0.4,
		},
		{
			"count by minute", `SELECT date_trunc('minute', _timestamp) AS _timestamp, count(*) AS n FROM bench GROUP BY ALL`,
			`* | stats by (_time:1m) count() n`,
			[]string{"_timestamp", "n"},
			0.5,
		},
		{
			// The peer samples, so answers differ a little.
			"p99 of duration_ms by service", `SELECT service, quantile_cont(duration_ms, 0.99) AS p99 FROM bench GROUP BY service`,
			`* | stats by (service) quantile(0.99, duration_ms) p99`, nil, 0.3,
		},
		{
			"rare word, count", `SELECT count(*) AS n FROM bench WHERE match(message, 'u4242')`,
			`u4242 | stats count() n`,
			[]string{"n"},
			0.7,
		},
		{
			"rare word, all its rows", `SELECT * FROM bench WHERE match(message, 'u4242')`, `u4242`, all, 0.7,
		},
		{
			"rare word and phrase, newest 50",
			`SELECT * FROM bench WHERE match(message, 'u4242 "authentication failure"') ORDER BY _timestamp DESC LIMIT 50`,
			`u4242 "authentication failure" | sort by (_time desc) limit 50`, all, 0.8,
		},
		{
			"one trace_id", fmt.Sprintf(`SELECT * FROM bench WHERE trace_id = '%s'`, traceID),
			fmt.Sprintf(`trace_id:=%q`, traceID), all, 0.8,
		},
		{
			"regular expression, count", `SELECT count(*) AS n FROM bench WHERE regexp_matches(message, 'user=u42[0-9]{2}$')`,
			`~"user=u42[0-9]{2}$" | stats count() n`,
			[]string{"n"},
			1,
		},
		{
			"newest 100 errors, all columns", `SELECT * FROM bench WHERE level = 'error' ORDER BY _timestamp DESC LIMIT 100`,
			`level:=error | sort by (_time desc) limit 100`, all, 0.7,
		},
	}
}
