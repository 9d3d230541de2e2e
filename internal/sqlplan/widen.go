package sqlplan

import (
	"slices"
	"strings"

	"github.com/millstream/millstream/internal/signal"
)

// wrap puts n into a cast, in place.
func wrap(n node, typ string, try bool) {
	child := node{}
	child.replace(n)
	child["alias"] = ""
	delete(child, originalKey)
	n.replace(withAlias(newCast(child, typ, try), n))
}

func wrapTry(n node, typ string) { wrap(n, typ, true) }
func wrapText(n node)            { wrap(n, "VARCHAR", false) }

// engineType is the type that a widened column is read as beside a value of class c.
func engineType(c class) string {
	switch c {
	case classBool:
		return "BOOLEAN"
	case classTime:
		return "TIMESTAMP WITH TIME ZONE"
	case classInterval:
		return "INTERVAL"
	default:
		return "DOUBLE"
	}
}

// constantClass is the class of a literal.
func constantClass(n node) class { return typeClass(n.sub("value").sub("type").str("id")) }

// typeClass is the class of an engine type.
func typeClass(id string) class {
	id, _, _ = strings.Cut(id, "(") // DECIMAL(2,1)
	switch id {
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE",
		"DECIMAL", "INTEGER_LITERAL", "BIGNUM":
		return classNumber
	case "BOOLEAN":
		return classBool
	case "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "DATE":
		return classTime
	case "INTERVAL":
		return classInterval
	case "VARCHAR", "CHAR", "STRING_LITERAL":
		return classText
	}
	return classUnknown
}

// bindComparison rewrites the sides of a comparison, of BETWEEN or of IN: the first against all others. A side that is text by widening is
// read as what the other side is; where that is not known, a value that cannot be read makes the comparison NULL instead of failing.
func (b *binder) bindComparison(n node, sc *scope, sides ...node) (class, error) {
	classes := make([]class, len(sides))
	for i, s := range sides {
		c, err := b.bindOperand(s, sc)
		if err != nil {
			return classBool, err
		}
		classes[i] = c
	}
	first, rest := classes[0], classes[1:]
	switch {
	case first == classWidened:
		b.widenFirst(n, sides, rest)
	case containsClass(rest, classWidened):
		for i, c := range rest {
			if c != classWidened {
				continue
			}
			switch {
			case isTyped(first):
				sameKind(sides[i+1], c, sides[0], first)
			case first == classUnknown && !constantIsNull(sides[0]):
				wrapOperator(n, "OPERATOR_TRY")
				return classBool, nil
			}
		}
	}
	return classBool, nil
}

// bindOperand is bindExpr for a side of a comparison. A JSON column is compared as its text, like a column that is text by widening: the
// engine would read a literal beside it as JSON, and fail on one that is none.
func (b *binder) bindOperand(n node, sc *scope) (class, error) {
	isJSON := isJSONColumn(n, sc)
	c, err := b.bindExpr(n, sc)
	if err != nil || !isJSON {
		return c, err
	}
	wrapText(n)
	return classWidened, nil
}

// isJSONColumn reports whether an expression that is not bound yet is a stream's JSON column.
func isJSONColumn(n node, sc *scope) bool {
	if n.class() != "COLUMN_REF" {
		return false
	}
	f := sc.resolve(n.texts("column_names"))
	return f.column != nil && f.column.typ == signal.JSON && (len(f.parts) == 1 || lowerEqual(f.parts[len(f.parts)-1], f.column.field))
}

func containsClass(list []class, c class) bool {
	return slices.Contains(list, c)
}

// widenFirst reads a widened first side as the class of the others.
func (b *binder) widenFirst(n node, sides []node, rest []class) {
	kind, mixed := commonKind(sides[1:], rest)
	switch {
	case kind == classText && !mixed, kind == classWidened && !mixed:
	case mixed && len(sides) > 2 && containsClass(rest, classText): // IN ('a', 1): the numbers as text
		for i, c := range rest {
			if isTyped(c) {
				textConstant(sides[i+1])
			}
		}
	case isTyped(kind) && !mixed && len(sides) == 2:
		sameKind(sides[0], classWidened, sides[1], kind)
	case kind == classBool && !mixed:
		for _, s := range sides[1:] {
			textConstant(s)
		}
	case isTyped(kind) && !mixed:
		wrapTry(sides[0], engineType(kind))
	default:
		wrapOperator(n, "OPERATOR_TRY")
	}
}

// commonKind returns the class of the first value that is not NULL, and whether others have another.
func commonKind(values []node, classes []class) (kind class, mixed bool) {
	first := true
	for i, c := range classes {
		if constantIsNull(values[i]) {
			continue
		}
		if first {
			kind, first = c, false
		}
		mixed = mixed || c != kind
	}
	return kind, mixed
}

// sameKind makes a, if it is text by widening, comparable with b, and the other way round. A boolean literal is compared as text.
func sameKind(a node, ca class, b node, cb class) {
	if cb == classWidened && ca != classWidened {
		a, ca, b, cb = b, cb, a, ca
	}
	if ca != classWidened || !isTyped(cb) {
		return
	}
	if cb == classBool && textConstant(b) {
		return
	}
	wrapTry(a, engineType(cb))
}

// textConstant makes a literal its text, and reports whether n is one.
func textConstant(n node) bool {
	if n.class() == "CAST" && n.sub("cast_type").str("id") == "BOOLEAN" { // the parser's form of true and false
		switch _, text, _ := constantValue(n.sub("child")); text {
		case "t":
			n.replace(withAlias(newText(n.sub("child"), "true"), n))
			return true
		case "f":
			n.replace(withAlias(newText(n.sub("child"), "false"), n))
			return true
		}
	}
	if n.class() == "CONSTANT" && !constantIsNull(n) {
		wrapText(n)
		return true
	}
	return false
}

func wrapOperator(n node, kind string) {
	child := node{}
	child.replace(n)
	child["alias"] = ""
	delete(child, originalKey)
	n.replace(withAlias(node{
		"class": "OPERATOR", "type": kind, "query_location": placeOf(child), "children": exprs(child),
	}, n))
}

// arguments says how a function reads arguments that are text by widening.
type arguments uint8

const (
	asTheyAre arguments = iota
	asNumbers
	asIntegers
	asTimes
	keepsFirst // the result is one of the values of the first argument
	keepsAny   // the result is one of the arguments
	extreme    // min and max: by number where the values are numbers
)

// argumentsOf returns how a function reads its arguments and what it returns.
func argumentsOf(name string) (arguments, class) {
	switch name {
	case "+", "-", "*", "/", "//", "%", "**", "^", "add", "subtract", "multiply", "divide", "mod", "fmod", "fdiv", "pow", "power",
		"sum", "avg", "mean", "fsum", "favg", "kahan_sum", "sumkahan", "product", "median", "mad", "quantile", "quantile_cont", "quantile_disc",
		"approx_quantile", "reservoir_quantile", "stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp", "sem", "skewness",
		"kurtosis", "kurtosis_pop", "corr", "covar_pop", "covar_samp", "geomean", "geometric_mean", "regr_avgx", "regr_avgy", "regr_count",
		"regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "weighted_avg", "wavg",
		"abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "ceiling", "cos", "cosh", "cot", "degrees", "even",
		"exp", "floor", "gamma", "isfinite", "isinf", "isnan", "lgamma", "ln", "log", "log10", "log2", "radians", "round", "round_even",
		"roundbankers", "sign", "signbit", "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "to_timestamp":
		if name == "to_timestamp" {
			return asNumbers, classTime
		}
		return asNumbers, classNumber
	case "&", "|", "<<", ">>", "~", "xor", "bit_and", "bit_or", "bit_xor", "factorial", "gcd", "lcm", "greatest_common_divisor",
		"least_common_multiple", "epoch_ms", "make_timestamp", "make_timestamp_ms", "format_bytes", "chr", "bit_count":
		return asIntegers, classNumber
	case "to_days", "to_hours", "to_minutes", "to_months", "to_weeks", "to_years", "to_quarters", "to_decades", "to_centuries", "to_millennia",
		"to_microseconds":
		return asIntegers, classInterval
	case "to_seconds", "to_milliseconds":
		return asNumbers, classInterval
	case "year", "month", "day", "hour", "minute", "second", "week", "quarter", "dayofweek", "dayofmonth", "dayofyear", "isodow", "isoyear",
		"weekday", "weekofyear", "yearweek", "epoch", "epoch_us", "epoch_ns", "millisecond", "microsecond", "nanosecond", "decade", "century",
		"millennium", "julian", "date_part", "datepart", "date_diff", "datediff", "date_sub", "datesub":
		return asTimes, classNumber
	case "date_trunc", "datetrunc", "time_bucket", "timezone", "last_day", "date_add":
		return asTimes, classTime
	case "strftime", "dayname", "monthname":
		return asTimes, classText
	case "age":
		return asTimes, classInterval
	case "count", "count_star", "count_if", "countif", "approx_count_distinct", "length", "len", "strlen", "char_length", "character_length",
		"bit_length", "octet_length", "instr", "position", "strpos", "ascii", "unicode", "ord", "levenshtein", "hamming", "row_number", "rank",
		"dense_rank", "rank_dense", "percent_rank", "cume_dist", "ntile", "hash", "random", "pi", "entropy", "json_array_length",
		"array_length", "cardinality":
		return asTheyAre, classNumber
	case "contains", "starts_with", "ends_with", "prefix", "suffix", "regexp_matches", "regexp_full_match", "~~", "!~~", "~~*", "!~~*", "^@",
		"like_escape", "not_like_escape", "ilike_escape", "not_ilike_escape", "bool_and", "bool_or", "json_valid", "json_exists", "isnull":
		return asTheyAre, classBool
	case "||", "concat", "concat_ws", "lower", "upper", "lcase", "ucase", "trim", "ltrim", "rtrim", "substr", "substring", "left", "right",
		"replace", "regexp_replace", "regexp_extract", "split_part", "format", "printf", "string_agg", "group_concat", "listagg",
		"lpad", "rpad", "repeat", "reverse", "md5", "sha1", "sha256", "->>", "json_extract_string", "typeof", "translate":
		return asTheyAre, classText
	case "make_date", "make_timestamptz", "strptime", "try_strptime":
		return asTheyAre, classTime
	case "first", "last", "any_value", "arbitrary", "mode", "arg_max", "arg_min", "argmax", "argmin", "max_by", "min_by", "first_value",
		"last_value", "nth_value", "lag", "lead", "arg_max_null", "arg_min_null", "fill":
		return keepsFirst, classUnknown
	case "greatest", "least", "nullif":
		return keepsAny, classUnknown
	case "min", "max":
		return extreme, classUnknown
	}
	return asTheyAre, classUnknown
}

// widenCall rewrites the arguments of a call that are text by widening and returns the class of its result.
func (b *binder) widenCall(n node, classes []class, sc *scope) class {
	args, result := argumentsOf(n.str("function_name"))
	children := n.list("children")
	switch args {
	case asNumbers:
		typ := "DOUBLE"
		if containsClass(classes, classTime) || containsClass(classes, classInterval) {
			typ, result = "TIMESTAMP WITH TIME ZONE", timeArithmetic(n.str("function_name"), classes)
		}
		tryAll(children, classes, typ)
	case asIntegers:
		tryAll(children, classes, "BIGINT")
	case asTimes:
		for i, c := range classes {
			if c == classWidened {
				wrapTry(asNode(children[i]), "TIMESTAMP WITH TIME ZONE")
			}
		}
	case keepsFirst:
		if len(classes) > 0 {
			return classes[0]
		}
	case keepsAny:
		return widenAny(children, classes)
	case asTheyAre:
	case extreme:
		if len(classes) == 0 {
			return classUnknown
		}
		if classes[0] == classWidened && len(classes) == 1 && !sc.pivot && isSmall(asNode(children[0])) {
			widenExtreme(n)
		}
		return classes[0]
	}
	return result
}

func tryAll(children []any, classes []class, typ string) {
	for i, c := range classes {
		if c == classWidened {
			wrapTry(asNode(children[i]), typ)
		}
	}
}

// timeArithmetic is the class of an operation on times and intervals, in which text by widening is read as a time.
func timeArithmetic(name string, classes []class) class {
	intervals := 0
	for _, c := range classes {
		if c == classInterval {
			intervals++
		}
	}
	switch {
	case name != "+" && name != "-" || intervals == len(classes):
		return classInterval
	case name == "-" && intervals == 0 && len(classes) > 1 && classes[1] != classNumber:
		return classInterval
	}
	return classTime
}

// oneKind makes values that become one column text if one of them is text by widening, and returns their common class.
func oneKind(values []node, classes []class) class {
	if !containsClass(classes, classWidened) {
		result := classUnknown
		for i, c := range classes {
			if constantIsNull(values[i]) {
				continue
			}
			if result == classUnknown {
				result = c
			}
			result = mergeClass(result, c)
		}
		return result
	}
	for i, v := range values {
		if isTyped(classes[i]) && !constantIsNull(v) {
			wrapText(v)
		}
	}
	return classWidened
}

// widenAny makes arguments of greatest and the like comparable.
func widenAny(children []any, classes []class) class {
	result := classUnknown
	for _, c := range classes {
		if isTyped(c) {
			result = c
		}
	}
	if !isTyped(result) {
		if containsClass(classes, classWidened) {
			return classWidened
		}
		return classUnknown
	}
	for i, c := range classes {
		if c == classWidened {
			wrapTry(asNode(children[i]), engineType(result))
		}
	}
	return result
}

// widenExtreme turns min(c) and max(c) of a column that is text by widening into the least or greatest number among the values, as it was
// written, or the least or greatest text if none is a number.
func widenExtreme(n node) {
	by := "arg_" + n.str("function_name")
	plain := node{}
	plain.replace(n)
	plain["alias"] = ""
	delete(plain, originalKey)
	number := plain.clone()
	column := asNode(number.list("children")[0])
	key := column.clone()
	wrapTry(key, "DOUBLE")
	number["function_name"], number["children"], number["distinct"] = by, exprs(column, key), false
	n.replace(withAlias(node{
		"class": "OPERATOR", "type": "OPERATOR_COALESCE", "query_location": placeOf(plain), "children": exprs(number, plain),
	}, n))
}
