package duck_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/duck"
)

func TestAllowed(t *testing.T) {
	t.Parallel()
	require.True(t, duck.Allowed(duck.Scalar, "LOWER"))
	require.True(t, duck.Allowed(duck.Aggregate, "count_star"))
	require.True(t, duck.Allowed(duck.Window, "row_number"))
	require.True(t, duck.Allowed(duck.Window, "sum"))
	require.False(t, duck.Allowed(duck.Aggregate, "row_number"))
	require.True(t, duck.Allowed(duck.Table, "range"))
	for _, name := range []string{
		"getenv", "current_setting", "read_csv", "query", "sleep_ms", "json_execute_serialized_sql", "list_transform", "json_structure",
		"ms_repeat", "ms_guard_text", "glob", "nextval", "setseed", "list_resize", "bar", "~~~", "json_merge_patch", "write_log", "",
	} {
		for _, kind := range []duck.Kind{duck.Scalar, duck.Aggregate, duck.Window, duck.Table} {
			require.False(t, duck.Allowed(kind, name), name)
		}
	}
	macro, ok := duck.Rewrite("REPEAT")
	require.True(t, ok)
	require.Equal(t, "ms_repeat", macro)
	_, ok = duck.Rewrite("lower")
	require.False(t, ok)
	require.Equal(t, []string{"lower"}, duck.Suggest(duck.Scalar, "lowr")[:1])
	require.Contains(t, duck.Suggest(duck.Aggregate, "quantil"), "quantile")
	require.Empty(t, duck.Suggest(duck.Scalar, "zzzzzzzzzz"))
	require.Empty(t, duck.Suggest(duck.Scalar, strings.Repeat("lower", 1000)))
}

// Every name of the list exists in the engine, and every macro that a name is rewritten to.
func TestListedFunctionsExist(t *testing.T) {
	t.Parallel()
	i := acquire(t, newPool(t, nil), "a")
	known := make(map[string]bool)
	for _, row := range readAll(t, i, "SELECT DISTINCT lower(function_name) FROM duckdb_functions()") {
		known[row[0]] = true
	}
	// The parser knows these names itself.
	for _, name := range []string{"->", "row", "map", "struct_pack", "unnest", "array_value"} {
		known[name] = true
	}
	for _, c := range duck.Categories() {
		for _, name := range c.Names {
			require.True(t, known[name], "%s (%s)", name, c.Name)
			if macro, ok := duck.Rewrite(name); ok && c.Kind == duck.Scalar {
				require.True(t, known[macro], macro)
			}
		}
	}
}

// Bounded functions give what the functions do that they stand for.
func TestRewritesKeepTheMeaning(t *testing.T) {
	t.Parallel()
	i := acquire(t, newPool(t, nil), "a")
	const ts = "TIMESTAMP '2026-01-01'"
	for _, c := range []struct{ name, args string }{
		{"repeat", "'ab', 3"},
		{"repeat", "'ab', -1"},
		{"repeat", "NULL, 3"},
		{"lpad", "'a', 5, '*'"},
		{"rpad", "'abc', 2, '*'"},
		{"replace", "'a.b.c', '.', '::'"},
		{"replace", "'abc', '', 'x'"},
		{"replace", "NULL, 'a', 'bb'"},
		{"replace", "'aa', 'a', NULL"},
		{"concat", "'a', NULL, 3, true"},
		{"concat", "'a', NULL"},
		{"concat_ws", "', ', 'a', NULL, 'b'"},
		{"format", "'{} {:>5} {{}}', 1, 'x'"},
		{"printf", "'%5.2f|%d%%', 2.5, 3"},
		{"range", "5"},
		{"range", "2, 5"},
		{"range", "10, 1, -4"},
		{"range", "-3"},
		{"generate_series", "1, 10, 3"},
		{"range", ts + ", " + ts + " + INTERVAL 2 DAY, INTERVAL 12 HOUR"},
		{"generate_series", "DATE '2026-01-01', DATE '2026-03-01', INTERVAL 1 MONTH"},
		{"string_split", "'a,b,,c', ','"},
		{"split_part", "'a,b', ',', 2"},
		{"regexp_split_to_array", "'a1b22c', '[0-9]+'"},
		{"regexp_extract_all", "'a1b22', '[0-9]+'"},
		{"regexp_extract_all", "'a1b22', '([a-z])([0-9]+)', 2"},
		{"regexp_replace", "'aXbX', 'X', '[\\0]', 'g'"},
		{"regexp_replace", "'aXbX', 'X', 'yy'"},
		{"regexp_escape", "'a.b'"},
		{"hex", "'abc'"},
		{"hex", "255"},
		{"bin", "5"},
		{"to_base64", "'abc'::BLOB"},
		{"url_encode", "'a b/ü'"},
		{"strftime", ts + ", '%Y-%j'"},
		{"strptime", "'2026-02', '%Y-%m'"},
		{"try_strptime", "'x', '%Y-%m'"},
		{"array_to_string", "['a', NULL, 'b'], ', '"},
		{"levenshtein", "'kitten', 'sitting'"},
		{"jaccard", "'abc', 'abd'"},
		{"json_extract", `'{"a": [1, 2]}', '$.a'`},
		{"json_extract", "'[1, 2]', 0"},
		{"json_extract", `'{"a": {"b": 1}}', 'a'`},
		{"json_extract_string", `'{"a": "x"}'::JSON, '$.a'`},
		{"json_extract_string", "NULL, '$.a'"},
		{"json_exists", `'{"a": 1}', '$.b'`},
		{"json_value", `'{"a": 1}', '$.a'`},
	} {
		macro, ok := duck.Rewrite(c.name)
		require.True(t, ok, c.name)
		want, wantSchema, err := read(t.Context(), i, "SELECT "+c.name+"("+c.args+")")
		require.NoError(t, err, c.name)
		got, gotSchema, err := read(t.Context(), i, "SELECT "+macro+"("+c.args+")")
		require.NoError(t, err, c.name)
		require.Equal(t, want, got, "%s(%s)", c.name, c.args)
		require.Equal(t, wantSchema.Field(0).Metadata, gotSchema.Field(0).Metadata, "%s(%s)", c.name, c.args)
	}
}

func TestLikeIsLike(t *testing.T) {
	t.Parallel()
	i := acquire(t, newPool(t, nil), "a")
	texts := []string{"", "a", "abc", "ABC", "a%b", "a.c", "xaybzc", "a\nb\nc", "世界abc", "aaaab", "[b]+c", `a\b`}
	patterns := []string{
		"", "%", "a", "a%", "%c", "%b%", "a%c", "%a%b%c", "a_c", "%_", "___", "%.%c", "%a_b%", "_%_%_",
		"%\n%c", "%a%a%b", "%[b]%+c", `%\%`, "%世_a%",
	}
	lit := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	for op, sql := range map[string]string{"~~": "LIKE", "!~~": "NOT LIKE", "~~*": "ILIKE", "!~~*": "NOT ILIKE"} {
		macro, _ := duck.Rewrite(op)
		for _, text := range texts {
			for _, p := range patterns {
				row := readOne(t, i, fmt.Sprintf("SELECT %s %s %s, %s(%[1]s, %[3]s)", lit(text), sql, lit(p), macro))
				require.Equal(t, row[0], row[1], "%q %s %q", text, sql, p)
			}
		}
	}
	require.Equal(t, []string{"true", "false"}, readOne(t, i,
		`SELECT ms_like_escape('a%c', 'a!%c', '!'), ms_not_like_escape('a%c', 'a!%c', '!')`))
}

// hostile are calls that try to make much of little, or to take long.
func hostile() []string {
	calls := []string{
		"ms_repeat('x', 1000000000)", "ms_repeat(ms_repeat('x', 1000000), 1000)", "ms_lpad('x', 1000000000, 'y')",
		"ms_rpad('x', 2147483647, 'y')", "ms_range(1000000000)", "ms_range(0, 9223372036854775807)", "ms_range(0, 9223372036854775807, 7)",
		"ms_generate_series(-9223372036854775807, 9223372036854775807, 1)",
		"ms_generate_series(TIMESTAMP '0001-01-01', TIMESTAMP '9999-01-01', INTERVAL 1 SECOND)",
		"ms_generate_series(TIMESTAMPTZ '0001-01-01', TIMESTAMPTZ '9999-01-01', INTERVAL 1 MICROSECOND)",
		"ms_generate_series(DATE '0001-01-01', DATE '9999-01-01', INTERVAL 1 MILLISECOND)",
		"ms_format('{:>100000000}', 1)", "ms_format('{:{}}', 1, 100000000)", "ms_format('{:.100000000f}', 1.5)", "ms_printf('%100000000d', 1)",
		"ms_printf('%*d', 100000000, 1)", "ms_format(ms_repeat('{0}', 300000), 'x')", "ms_printf('%.*f', 100000000, 1.5)",
		"ms_replace(ms_repeat('a', 1000000), 'a', ms_repeat('b', 1000000))",
		"ms_regexp_replace(ms_repeat('a', 1000000), 'a', ms_repeat('b', 1000000), 'g')",
		"ms_regexp_replace(ms_repeat('a', 1000000), '.*', ms_repeat('\\0', 10000), 'g')",
		"ms_string_split(ms_repeat('a', 1000000), '')", "ms_regexp_extract_all(ms_repeat('a', 1000000), '')",
		"ms_regexp_split(ms_repeat('a', 1000000), '')", "ms_split_part(ms_repeat('a', 1000000), '', 1)",
		"ms_array_to_string(ms_range(100000), ms_repeat('x', 1000000))", "ms_strftime(now(), ms_repeat('%c', 500000))",
		"ms_strptime(ms_repeat('1', 1000000), ms_repeat('%d', 500000))",
		"ms_levenshtein(ms_repeat('a', 1000000), ms_repeat('b', 1000000))", "ms_damerau_levenshtein(ms_repeat('a', 100000), 'b')",
		"ms_jaro_similarity(ms_repeat('ab', 500000), ms_repeat('ba', 500000))",
		"ms_like(ms_repeat('a', 1000000), '%a_%a_%a_%a_%b')", "ms_ilike(ms_repeat('a', 1000000), '%a%a%a%a%a%a%a%b')",
		"ms_like_escape(ms_repeat('a', 1000000), '%a!_%a%a%a%b', '!')", "ms_like(ms_repeat('a', 100000), ms_repeat('%a', 5000) || 'b')",
		"ms_json_extract(ms_repeat('{\"a\":', 100000) || '1' || ms_repeat('}', 100000), '$..a')",
		"json_valid(ms_repeat('[', 1000000))", "json_type(ms_join(ms_repeat('[', 500000), ms_repeat(']', 500000)))",
		"ms_json_extract(ms_join(ms_repeat('[', 500000), ms_repeat(']', 500000)), '$[0]')",
		"json_keys(ms_repeat('{\"a\":', 150000) || '1' || ms_repeat('}', 150000))",
		"json_array(CAST(ms_join(ms_repeat('[', 500000), ms_repeat(']', 500000)) AS JSON))",
		"json_object('a', CAST(ms_join(ms_repeat('[', 500000), ms_repeat(']', 500000)) AS JSON))",
		"to_json(CAST(ms_join(ms_repeat('[', 500000), ms_repeat(']', 500000)) AS JSON))",
		"ms_regexp_matches(ms_repeat('a', 1000000), '(a*)*(a|aa)*b')", "ms_regexp_matches('a', '((a{1,100}){1,100}){1,100}')",
		"ms_regexp_full_match(ms_repeat('a', 1000000), '(.*)(.*)(.*)(.*)(.*)b')",
		"ms_regexp_matches(ms_repeat('a', 1000000), ms_repeat('.*a', 1300) || 'b')", "ms_regexp_matches('a', ms_repeat('.*a', 100000))",
		"factorial(2147483647)", "2::BIGINT ^ 1000000", "to_base(1, 2, 2147483647)", "translate(ms_repeat('a', 1000000), 'a', 'ü')",
		"ms_concat(ms_repeat('a', 1000000), ms_repeat('a', 1000000))", "ms_join(ms_repeat('a', 1000000), ms_repeat('a', 1000000))",
		"ms_concat_ws(ms_repeat('a', 1000000), 'a', 'b', 'c', 'd')", "ms_hex(ms_repeat('a', 1000000))", "ms_bin(ms_repeat('a', 1000000))",
		"ms_url_encode(ms_repeat('ü', 500000))", "list_sort(ms_range(100000))", "list_intersect(ms_range(100000), ms_range(100000))",
		"time_bucket(INTERVAL 1 MICROSECOND, TIMESTAMP '9999-01-01', TIMESTAMP '0001-01-01')",
		"trim(ms_repeat('a', 1000000), ms_repeat('b', 1000000))",
	}
	return calls
}

var repeated = regexp.MustCompile(`ms_repeat\('.',`)

// perRow makes the first repeated letter of expr depend on the column n, so that nothing is computed once for all rows.
func perRow(expr string) string {
	if at := repeated.FindStringIndex(expr); at != nil {
		return expr[:at[0]] + "ms_repeat(chr(97 + (n % 2)::INTEGER)," + expr[at[1]:]
	}
	return expr
}

// Decision A4: every hostile call is back soon and takes no memory beyond the limit, on one row and on a whole vector of rows.
func TestHostileCallsAreBounded(t *testing.T) { //nolint:paralleltest // measures the memory of the process
	const limit = 256 << 20
	p := newPool(t, func(o *duck.Options) { o.Concurrency, o.WarmInstances, o.MemoryLimit = 1, 1, limit })
	for _, expr := range hostile() {
		for _, sql := range []string{
			"SELECT length(CAST(" + expr + " AS VARCHAR))",
			"SELECT count(v) FROM (SELECT " + perRow(expr) + " AS v FROM range(2048) t(n))",
		} {
			i := acquire(t, p, "a")
			resetPeakRSS(t)
			before := peakRSS(t)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			_, _, err := read(ctx, i, sql)
			cancel()
			// Errors are fine; what counts is that the engine came back by itself.
			require.NotErrorIs(t, err, context.DeadlineExceeded, sql)
			require.Less(t, peakRSS(t)-before, int64(limit+256<<20), sql)
			i.Release()
		}
	}
}

func TestFunctionDocIsUpToDate(t *testing.T) {
	t.Parallel()
	const path = "../../docs/sql-functions.md"
	want := functionDoc()
	if os.Getenv("MS_UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o600))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want, string(got), "run MS_UPDATE_GOLDEN=1 go test -run FunctionDoc ./internal/duck")
}

// functionDoc writes the list of functions as a page.
func functionDoc() string {
	var sb strings.Builder
	sb.WriteString(`# SQL functions

<!-- Generated from internal/duck/functions.txt by TestFunctionDocIsUpToDate; do not edit. -->

Statements are DuckDB SQL and may call the functions of this page and no others; a name that is not listed is refused with the nearest
names that are. They mean what DuckDB's documentation says, with these bounds, because one call of a function cannot be interrupted:

- **bounded** (in bold below): a text that the function makes is at most 1 MiB, a list at most about 100,000 elements, and all that it
  makes for 2048 rows together at most 128 MiB. Beyond that the statement ends with an error.
- Edit distances and similarities take texts of up to 1024 bytes; format texts up to 1000 bytes and widths of up to three digits.
- A JSON path is a text or an array index, without the recursive step "..".
- LIKE with ESCAPE takes patterns with one %, or one at either end. Patterns of regular expressions are at most 4 KiB, of LIKE 1000 bytes.
- The operator || joins texts; lists grow by list_append.
- ` + "`range` and `generate_series`" + ` in FROM have no bound; they stream.
- Not here: lambdas, GLOB, and whatever reads files, settings, catalogs or SQL text.

`)
	for _, c := range duck.Categories() {
		fmt.Fprintf(&sb, "## %s\n\n", strings.ToUpper(c.Name[:1])+c.Name[1:])
		names := slices.Clone(c.Names)
		slices.Sort(names)
		for n, name := range names {
			text := "`" + name + "`"
			if _, ok := duck.Rewrite(name); ok && c.Kind == duck.Scalar {
				text = "**" + text + "**"
			}
			if n > 0 {
				sep := ", "
				if n%8 == 0 {
					sep = ",\n"
				}
				sb.WriteString(sep)
			}
			sb.WriteString(text)
		}
		sb.WriteString("\n\n")
	}
	return strings.TrimRight(sb.String(), "\n") + "\n"
}
