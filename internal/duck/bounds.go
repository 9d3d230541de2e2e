package duck

import (
	"fmt"
	"strings"
)

// MaxValueBytes bounds the text or list that one call of a bounded function makes. Lists count 10 bytes an element: about 100,000.
const MaxValueBytes = 1 << 20

// MaxVectorBytes bounds what one call of a bounded function makes for all rows of a vector (up to 2048) together. DuckDB neither counts
// that memory nor looks at an interrupt before the vector is done.
const MaxVectorBytes = 128 << 20

const (
	maxFormatBytes = 1000 // of a format text
	maxEditBytes   = 1024 // of a text whose edit distance is asked for; time and memory are the product
	maxVariadic    = 16   // arguments of a bounded variadic function
	splitBytes     = 16   // of memory for every byte of a text that is split, at worst
	elementBytes   = 10
	padBytes       = 4 // of a character
	// patternCost makes guard_room refuse patterns beyond 4 KiB: long ones overflow RE2's automaton and cost text times pattern.
	patternCost = MaxValueBytes / 4096
)

// macroStatements returns the statements that create the trusted macros of an instance, over the guards of guard.go. Most mention every
// argument once, because an argument is text that is copied into each mention.
func macroStatements() []string {
	return append(variadicMacros(), []string{
		macro("ms_join(a, b)", "ms_guard_sum(CAST(a AS VARCHAR), CAST(b AS VARCHAR)) || b"),
		macro("ms_lpad(s, n, p)", "lpad(s, CAST(ms_guard_count(n, %d) AS INTEGER), p)", padBytes),
		macro("ms_rpad(s, n, p)", "rpad(s, CAST(ms_guard_count(n, %d) AS INTEGER), p)", padBytes),
		macro("ms_repeat(s, n)", "repeat(ms_guard_room(s, n), n)"),
		macro("ms_replace(s, f, t)", "replace(ms_guard_replace(s, f, t), f, t)"),
		macro("ms_string_split(s, p)", "string_split(ms_guard_room(s, %d), p)", splitBytes),
		macro("ms_split_part(s, p, n)", "split_part(ms_guard_room(s, %d), p, n)", splitBytes),
		macro("ms_regexp_split(s, p)", "string_split_regex(ms_guard_room(s, %d), ms_guard_room(p, %d))", splitBytes, patternCost),
		overloads("ms_regexp_matches",
			macroBody("(s, p)", "regexp_matches(s, ms_guard_room(p, %d))", patternCost),
			macroBody("(s, p, o)", "regexp_matches(s, ms_guard_room(p, %d), o)", patternCost)),
		overloads("ms_regexp_full_match",
			macroBody("(s, p)", "regexp_full_match(s, ms_guard_room(p, %d))", patternCost),
			macroBody("(s, p, o)", "regexp_full_match(s, ms_guard_room(p, %d), o)", patternCost)),
		overloads("ms_regexp_extract",
			macroBody("(s, p)", "regexp_extract(s, ms_guard_room(p, %d))", patternCost),
			macroBody("(s, p, g)", "regexp_extract(s, ms_guard_room(p, %d), g)", patternCost),
			macroBody("(s, p, g, o)", "regexp_extract(s, ms_guard_room(p, %d), g, o)", patternCost)),
		overloads("ms_regexp_extract_all",
			macroBody("(s, p)", "regexp_extract_all(ms_guard_room(s, %d), ms_guard_room(p, %d))", splitBytes, patternCost),
			macroBody("(s, p, g)", "regexp_extract_all(ms_guard_room(s, %d), ms_guard_room(p, %d), g)", splitBytes, patternCost),
			macroBody("(s, p, g, o)", "regexp_extract_all(ms_guard_room(s, %d), ms_guard_room(p, %d), g, o)", splitBytes, patternCost)),
		overloads("ms_regexp_replace",
			macroBody("(s, p, r)", "regexp_replace(ms_guard_room(s, 1 + strlen(r)), ms_guard_room(p, %d), r)", patternCost),
			macroBody("(s, p, r, o)", "regexp_replace(ms_guard_room(s, 1 + strlen(r)), ms_guard_room(p, %d), r, o)", patternCost)),
		macro("ms_regexp_escape(s)", "regexp_escape(ms_guard_room(s, 2))"),
		macro("ms_to_base64(s)", "to_base64(ms_guard_room(s, 2))"),
		macro("ms_bin(s)", "bin(ms_guard_digits(s, 8))"),
		macro("ms_hex(s)", "hex(ms_guard_digits(s, 2))"),
		macro("ms_url_encode(s)", "url_encode(ms_guard_room(s, 3))"),
		macro("ms_strftime(t, f)", "strftime(t, ms_guard_room(f, %d))", MaxValueBytes/maxFormatBytes),
		macro("ms_strptime(s, f)", "strptime(ms_guard_room(s, %d), f)", MaxValueBytes/maxFormatBytes),
		macro("ms_try_strptime(s, f)", "try_strptime(ms_guard_room(s, %d), f)", MaxValueBytes/maxFormatBytes),
		macro("ms_array_to_string(l, s)", "ms_guard_text(array_to_string(l, ms_guard_room(s, len(l))))"),
		distance("levenshtein"), distance("damerau_levenshtein"), distance("jaccard"), distance("jaro_similarity"),
		distance("jaro_winkler_similarity"),
		sequence("range"), sequence("generate_series"),
		jsonPath("json_extract"), jsonPath("json_extract_string"), jsonPath("json_exists"), jsonPath("json_value"),
		like("ms_like", "s LIKE p", "regexp_full_match", "s"),
		like("ms_not_like", "s NOT LIKE p", "NOT regexp_full_match", "s"),
		like("ms_ilike", "s ILIKE p", "regexp_full_match", "is"),
		like("ms_not_ilike", "s NOT ILIKE p", "NOT regexp_full_match", "is"),
		likeEscape("ms_like_escape", "s LIKE p ESCAPE e"),
		likeEscape("ms_not_like_escape", "s NOT LIKE p ESCAPE e"),
		likeEscape("ms_ilike_escape", "s ILIKE p ESCAPE e"),
		likeEscape("ms_not_ilike_escape", "s NOT ILIKE p ESCAPE e"),
	}...)
}

// macro returns the statement that creates one macro.
func macro(signature, body string, args ...any) string {
	return "CREATE MACRO " + macroBody(signature, body, args...)
}

func macroBody(signature, body string, args ...any) string {
	return signature + " AS (" + fmt.Sprintf(body, args...) + ")"
}

// overloads returns the statement that creates one macro with several numbers of arguments.
func overloads(name string, bodies ...string) string {
	return "CREATE MACRO " + name + strings.Join(bodies, ", ")
}

// variadicMacros returns concat, concat_ws, format and printf for up to maxVariadic arguments.
func variadicMacros() []string {
	names := make([]string, maxVariadic)
	for i := range names {
		names[i] = fmt.Sprintf("a%d", i)
	}
	var concat, concatWS, format, printf []string
	for n := 1; n <= maxVariadic; n++ {
		list, rest := strings.Join(names[:n], ", "), strings.Join(append([]string{""}, names[1:n]...), ", ")
		texts := "CAST(" + strings.Join(names[:n], " AS VARCHAR), CAST(") + " AS VARCHAR)"
		separators := strings.Repeat(", s", n)
		concat = append(concat, macroBody("("+list+")", "concat(ms_guard_sum(%s)%s)", texts, rest))
		concatWS = append(concatWS, macroBody("(s, "+list+")", "concat_ws(s, ms_guard_sum(%s%s)%s)", texts, separators, rest))
		format = append(format, macroBody("(f, "+list+")", "format(ms_guard_format(f, %s), %s)", texts, list))
		printf = append(printf, macroBody("(f, "+list+")", "printf(ms_guard_format(f, %s), %s)", texts, list))
	}
	return []string{
		overloads("ms_concat", concat...), overloads("ms_concat_ws", concatWS...),
		overloads("ms_format", format...), overloads("ms_printf", printf...),
	}
}

// distance bounds both texts of a function whose cost is the product of their lengths.
func distance(name string) string {
	return macro("ms_"+name+"(a, b)", "CASE WHEN strlen(a) > %[1]d OR strlen(b) > %[1]d"+
		" THEN error('%[2]s: a text is longer than %[1]d bytes') ELSE %[2]s(a, b) END", maxEditBytes, name)
}

// sequence bounds range and generate_series over integers and over timestamps. A cast that makes no sense for the type gives NULL.
func sequence(name string) string {
	// One test for both: the number of steps as integers, else as seconds.
	const steps = "coalesce(abs(TRY_CAST(b AS HUGEINT) - TRY_CAST(a AS HUGEINT)) // greatest(abs(TRY_CAST(c AS HUGEINT)), 1)," +
		" CAST(least(abs(epoch(TRY_CAST(b AS TIMESTAMP)) - epoch(TRY_CAST(a AS TIMESTAMP)))" +
		" / greatest(abs(epoch(TRY_CAST(c AS INTERVAL))), 0.000001), 1e18) AS HUGEINT), 0)"
	const guarded = "CASE WHEN ms_guard_count(CAST(%s AS BIGINT), %d) >= 0 THEN %s%s END"
	return overloads("ms_"+name,
		macroBody("(n)", "%s(ms_guard_count(n, %d))", name, elementBytes),
		macroBody("(a, b)", guarded, "TRY_CAST(b AS HUGEINT) - TRY_CAST(a AS HUGEINT)", elementBytes, name, "(a, b)"),
		macroBody("(a, b, c)", guarded, "least("+steps+", 1000000000000)", elementBytes, name, "(a, b, c)"))
}

// jsonPath refuses the recursive step "..", whose result grows with the square of the document. The path is a text.
func jsonPath(name string) string {
	return macro("ms_"+name+"(j, p)", "%s(j, ms_guard_path(p))", name)
}

// easyLike matches the patterns that LIKE decides in linear time: at most one %, or one at either end. DuckDB tries all splits for others.
const easyLike = "[^%]*%?[^%]*|%[^%]*%"

// like hands patterns that are not easy to the regular expression engine, which is linear.
func like(name, easy, match, options string) string {
	return fmt.Sprintf("CREATE MACRO %s(s, p) AS (CASE WHEN regexp_full_match(p, '%s', 's') THEN %s"+
		" ELSE %s(s, replace(replace(regexp_escape(ms_guard_room(p, %d)), '\\%%', '.*'), '_', '.'), '%s') END)",
		name, easyLike, easy, match, MaxValueBytes/maxFormatBytes, options)
}

func likeEscape(name, easy string) string {
	return fmt.Sprintf("CREATE MACRO %s(s, p, e) AS (CASE WHEN regexp_full_match(p, '%s', 's') THEN %s"+
		" ELSE error('LIKE with ESCAPE takes one %% or one at either end; use regexp_matches') END)", name, easyLike, easy)
}
