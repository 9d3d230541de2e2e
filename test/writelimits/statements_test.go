package writelimits_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// problem is what a failed statement tells.
type problem struct {
	Status int
	Code   int    `json:"code"`
	Error  string `json:"error"`
	Text   string `json:"message"`
	TookMS *int64 `json:"execution_time_ms"`
	Header string
}

// fails runs a statement that must fail.
func fails(t *testing.T, c mstest.Client, statement string) problem {
	t.Helper()
	_, err := c.Ask(t.Context(), statement)
	status, ok := errors.AsType[*mstest.StatusError](err)
	require.True(t, ok, "%s: %v", statement, err)
	p := problem{Status: status.Status, Header: status.Header.Get("x-greptime-err-code")}
	require.NoError(t, json.Unmarshal(status.Body, &p), "%s", status.Body)
	require.NotNil(t, p.TookMS, "%s: %s", statement, status.Body)
	require.Equal(t, fmt.Sprint(p.Code), p.Header, statement)
	return p
}

// TestStatements is the SQL surface of the write limiter: values, what is shown, errors with GreptimeDB's numbers.
func TestStatements(t *testing.T) {
	t.Parallel()
	server := mstest.Start(t, mstest.Config{})
	c := server.Client("acme")
	shown := func(name string) string {
		got := c.Query(t, "SHOW CREATE DATABASE "+name)
		require.Len(t, got, 1)
		return got[0][1].(string)
	}
	c.Query(t, "CREATE DATABASE plain")
	require.Equal(t, "CREATE DATABASE IF NOT EXISTS plain", shown("plain"))
	c.Query(t, "CREATE DATABASE IF NOT EXISTS logs WITH (Ingest_Rows_Rate_Limit = '010000', 'retention' = '30d')")
	require.Equal(t, "CREATE DATABASE IF NOT EXISTS logs\nWITH(\n  ingest_rows_rate_limit = '10000',\n  retention = '30d'\n)", shown("logs"))
	a, err := c.Ask(t.Context(), "SHOW CREATE DATABASE logs")
	require.NoError(t, err)
	require.Equal(t, []string{"Database", "Create Database"}, []string{a.Columns[0].Name, a.Columns[1].Name})

	for value, want := range map[string]string{
		"'0'": "0", "'1'": "1", "20000": "20000", "'18446744073709551615'": "18446744073709551615", "'0100'": "100",
	} {
		c.Query(t, "ALTER DATABASE plain SET 'INGEST_ROWS_RATE_LIMIT' = "+value)
		require.Equal(t, "CREATE DATABASE IF NOT EXISTS plain\nWITH(\n  ingest_rows_rate_limit = '"+want+"'\n)", shown("plain"))
	}
	got := c.Query(t, "SHOW FULL DATABASES LIKE 'logs'")
	require.Equal(t, "'ingest_rows_rate_limit'='10000'\n'retention'='30d'", strings.TrimSpace(got[0][1].(string)))
	c.Query(t, "ALTER DATABASE plain UNSET 'ingest_rows_rate_limit'")
	c.Query(t, "ALTER DATABASE plain UNSET 'ingest_rows_rate_limit'") // not set: no error
	require.Equal(t, "CREATE DATABASE IF NOT EXISTS plain", shown("plain"))

	for _, value := range []string{
		"'18446744073709551616'", "'-1'", "-1", "'+5'", "'1.5'", "1.5", "'1e3'", "'1000/s'", "'10k'", "'0x10'", "'1_000'", "''", "' 1'", "'1 '",
		"'１'", "NULL",
	} {
		p := fails(t, c, "ALTER DATABASE logs SET 'ingest_rows_rate_limit' = "+value)
		require.Equal(t, []int{http.StatusBadRequest, 1004}, []int{p.Status, p.Code}, value)
		require.Contains(t, p.Text, `"ingest_rows_rate_limit"`, value)
		if value != "NULL" {
			require.Contains(t, p.Text, strings.Trim(value, "'"), "the message names the value")
		}
		p = fails(t, c, "CREATE DATABASE other WITH ('ingest_rows_rate_limit' = "+value+")")
		require.Equal(t, 1004, p.Code, value)
	}
	for statement, want := range map[string][2]int{
		"ALTER DATABASE logs SET 'color' = '1'":                        {400, 1004},
		"ALTER DATABASE logs UNSET 'color'":                            {400, 1004},
		"CREATE DATABASE other WITH (color = '1')":                     {400, 1004},
		"ALTER DATABASE logs SET 'remote_write_reject_status' = '500'": {400, 1004},
		"ALTER DATABASE logs SET ingest_rows_rate_limit = '1'":         {400, 2000},
		"ALTER DATABASE": {400, 2000},
		"ALTER DATABASE missing SET 'ingest_rows_rate_limit' = '1'":    {404, 4004},
		"SHOW CREATE DATABASE missing":                                 {404, 4004},
		"CREATE DATABASE logs":                                         {409, 4011},
		"CREATE TABLE t (a INT) WITH ('ingest_rows_rate_limit' = '1')": {400, 2000},
		"ALTER TABLE t SET 'ingest_rows_rate_limit' = '1'":             {400, 1004},
		"ALTER STREAM t SET 'ingest_rows_rate_limit' = '1'":            {400, 1004},
	} {
		p := fails(t, c, statement)
		require.Equal(t, want, [2]int{p.Status, p.Code}, statement)
	}
	require.Equal(t, "CREATE DATABASE IF NOT EXISTS logs\nWITH(\n  ingest_rows_rate_limit = '10000',\n  retention = '30d'\n)", shown("logs"))

	// A stream does not inherit the option.
	require.Equal(t, http.StatusOK, c.Post(t, "/api/v1/intake/logs/app?database=logs", `[{"a":1}]`).Status)
	for _, row := range c.Query(t, "SHOW STREAMS FROM logs") {
		require.NotContains(t, fmt.Sprint(row...), "ingest_rows_rate_limit")
	}
	// Databases of another org are not changed by it, whatever their name.
	require.Equal(t, problem{Status: 404, Code: 4004, Error: "not_found", Header: "4004"},
		without(fails(t, server.Client("rival"), "ALTER DATABASE logs SET 'ingest_rows_rate_limit' = '1'")))
}

// without leaves out what differs from run to run.
func without(p problem) problem {
	p.Text, p.TookMS = "", nil
	return p
}

// TestLimitInForce sets a limit while rows are written: it counts at once, its debt survives UNSET, SET and a restart, and SHOW tells it.
func TestLimitInForce(t *testing.T) {
	t.Parallel()
	server := mstest.Start(t, mstest.Config{})
	c := server.Client("acme")
	write := func(rows int) mstest.Response {
		return c.Post(t, "/api/v1/intake/logs/app?database=d", "["+strings.TrimSuffix(strings.Repeat(`{"a":1},`, rows), ",")+"]")
	}
	require.Equal(t, http.StatusNotFound, write(1).Status, "an unknown database has no limit and takes nothing")
	c.Query(t, "CREATE DATABASE d")
	require.Equal(t, http.StatusOK, write(5000).Status)
	c.Query(t, "ALTER DATABASE d SET 'ingest_rows_rate_limit' = '1'")
	require.Equal(t, http.StatusOK, write(4000).Status, "one token is enough for a batch of any size")
	requireLimited := func(r mstest.Response) {
		t.Helper()
		require.Equal(t, http.StatusTooManyRequests, r.Status, "%s", r.Body)
		require.Equal(t, "6001", r.Header.Get("x-greptime-err-code"))
		require.NotEmpty(t, r.Header.Get("Retry-After"))
		var body struct {
			Error    string
			Code     int
			Database string
			Rejected int    `json:"rejected_rows"`
			Quota    uint64 `json:"current_quota"`
			Limit    uint64
		}
		require.NoError(t, json.Unmarshal(r.Body, &body))
		require.Equal(t, "RateLimited", body.Error)
		require.Equal(t, []any{6001, "d", 7, uint64(1), uint64(1)}, []any{body.Code, body.Database, body.Rejected, body.Quota, body.Limit})
	}
	requireLimited(write(7))
	c.Query(t, "ALTER DATABASE d UNSET 'ingest_rows_rate_limit'")
	require.Equal(t, http.StatusOK, write(100).Status)
	c.Query(t, "ALTER DATABASE d SET 'ingest_rows_rate_limit' = '0'")
	require.Equal(t, http.StatusOK, write(100).Status)
	c.Query(t, "ALTER DATABASE d SET 'ingest_rows_rate_limit' = '1'")
	requireLimited(write(7))
	require.NoError(t, server.Restart(t.Context()))
	requireLimited(write(7))
	server.Kill()
	require.NoError(t, server.Start(t.Context()))
	requireLimited(write(7))
	require.Equal(t, [][]any{{json.Number("9200")}}, c.Query(t, "SELECT count(*) FROM d.logs.app"))
}
