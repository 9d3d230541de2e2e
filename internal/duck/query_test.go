package duck_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/duck"
)

func TestQueryTypes(t *testing.T) {
	t.Parallel()
	i := acquire(t, newPool(t, nil), "a")
	for _, c := range []struct{ expr, typ, want string }{
		{"true", "BOOLEAN", "true"},
		{"(-128)::TINYINT", "TINYINT", "-128"},
		{"(-32768)::SMALLINT", "SMALLINT", "-32768"},
		{"2147483647::INTEGER", "INTEGER", "2147483647"},
		{"9223372036854775807::BIGINT", "BIGINT", "9223372036854775807"},
		{"255::UTINYINT", "UTINYINT", "255"},
		{"65535::USMALLINT", "USMALLINT", "65535"},
		{"4294967295::UINTEGER", "UINTEGER", "4294967295"},
		{"18446744073709551615::UBIGINT", "UBIGINT", "18446744073709551615"},
		{"170141183460469231731687303715884105727::HUGEINT", "HUGEINT", "170141183460469231731687303715884105727"},
		{"(-170141183460469231731687303715884105727)::HUGEINT", "HUGEINT", "-170141183460469231731687303715884105727"},
		{"340282366920938463463374607431768211455::UHUGEINT", "UHUGEINT", "340282366920938463463374607431768211455"},
		{"1.5::FLOAT", "FLOAT", "1.5"},
		{"'-inf'::DOUBLE", "DOUBLE", "-Inf"},
		{"'-123.45'::DECIMAL(5,2)", "DECIMAL(5,2)", "-123.45"},
		{"'-1234567.89'::DECIMAL(9,2)", "DECIMAL(9,2)", "-1234567.89"},
		{"'-123456789012.34'::DECIMAL(18,2)", "DECIMAL(18,2)", "-123456789012.34"},
		{"'-12345678901234567890123456789012345678'::DECIMAL(38,0)", "DECIMAL(38,0)", "-12345678901234567890123456789012345678"},
		{"'grüße, 世界 and more text'", "VARCHAR", "grüße, 世界 and more text"},
		{"'short'", "VARCHAR", "short"},
		{"''", "VARCHAR", ""},
		{`'{"n": 12345678901234567890.1234567890}'::JSON`, "JSON", `{"n": 12345678901234567890.1234567890}`},
		{`'\x00\xFF'::BLOB`, "BLOB", "AP8="},
		{"'1011001110001111'::BIT", "BIT", "1011001110001111"},
		{"'101'::BIT", "BIT", "101"},
		{"'eeccb8c5-9943-b2bb-bb5e-222f4e14b687'::UUID", "UUID", "eeccb8c5-9943-b2bb-bb5e-222f4e14b687"},
		{"INTERVAL '1 year 2 months -3 days 04:05:06.7'", "INTERVAL", "1 year 2 months -3 days 04:05:06.7"},
		{"INTERVAL '0 days'", "INTERVAL", "00:00:00"},
		{"DATE '2026-02-28'", "DATE", "2026-02-28"},
		{"TIME '23:59:59.999999'", "TIME", "23:59:59.999999"},
		{"TIMETZ '04:05:06.7+02:30'", "TIME WITH TIME ZONE", "04:05:06.7+02:30"},
		{"TIMETZ '04:05:06-08'", "TIME WITH TIME ZONE", "04:05:06-08"},
		{"TIMESTAMP '2026-02-28 01:02:03.000004'", "TIMESTAMP", "2026-02-28T01:02:03.000004Z"},
		{"TIMESTAMPTZ '2026-02-28 01:02:03.000004+01'", "TIMESTAMP WITH TIME ZONE", "2026-02-28T00:02:03.000004Z"},
		{"TIMESTAMP_NS '2026-02-28 01:02:03.000000004'", "TIMESTAMP_NS", "2026-02-28T01:02:03.000000004Z"},
		{"TIMESTAMP_S '2026-02-28 01:02:03'", "TIMESTAMP_S", "2026-02-28T01:02:03Z"},
		{"'b'::ENUM('a', 'b')", "ENUM", "b"},
		{"[1, NULL, 3]", "INTEGER[]", "[1,null,3]"},
		{"[[1], [], NULL, [2, 3]]", "INTEGER[][]", "[[1],[],null,[2,3]]"},
		{"[1, 2]::INTEGER[2]", "INTEGER[2]", "[1,2]"},
		{"{'a': 1, 'b': [true]}", `STRUCT("a" INTEGER, "b" BOOLEAN[])`, `{"a":1,"b":[true]}`},
		{"MAP {'k': 1, 'l': NULL}", "MAP(VARCHAR, INTEGER)", `[{"key":"k","value":1},{"key":"l","value":null}]`},
		{"NULL", "INTEGER", "(null)"},
		{"NULL::VARCHAR", "VARCHAR", "(null)"},
		{"NULL::STRUCT(a INTEGER)", `STRUCT("a" INTEGER)`, "(null)"},
		{"list_reverse([1, 2, 3])[1:2]", "INTEGER[]", "[3,2]"},
		{"list_filter(['a long enough text', 'x', NULL], x -> x <> 'x')", "VARCHAR[]", `["a long enough text"]`},
	} {
		cells, schema, err := read(t.Context(), i, "SELECT "+c.expr)
		require.NoError(t, err, c.expr)
		typ, _ := schema.Field(0).Metadata.GetValue(duck.TypeKey)
		require.Equal(t, c.typ, typ, c.expr)
		require.Equal(t, c.want, cells[0][0], c.expr)
	}
}

func TestQueryMistakes(t *testing.T) {
	t.Parallel()
	i := acquire(t, newPool(t, nil), "a")
	require.NoError(t, i.Exec(t.Context(), "CREATE TEMP TABLE logs (level VARCHAR)"))
	for _, c := range []struct{ sql, want string }{
		{"SELECT levels FROM logs", "level"},
		{"SELECT 'x'::INTEGER", "Could not convert string 'x' to INT32"},
		{"SELECT 1; SELECT 2", ""},
		{"SELECT ?", "parameters"},
		{"SELECT 1 \x00", "NUL"},
		{"DROP TABLE logs", "only SELECT"},
	} {
		_, _, err := read(t.Context(), i, c.sql)
		require.Error(t, err, c.sql)
		require.ErrorContains(t, err, c.want, c.sql)
		t.Log(err)
	}
}
