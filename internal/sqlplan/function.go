package sqlplan

import (
	"sort"
	"strings"
)

// isOperator reports whether a function is one that the parser makes of an operator: it has no letters.
func isOperator(name string) bool {
	return !strings.ContainsFunc(name, wordRune)
}

// fieldOrder returns the keys of a shape in a fixed order, tables before expressions, so that errors do not depend on chance.
func fieldOrder(s shape) []string {
	keys := make([]string, 0, len(s))
	for k := range s {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		ti, tj := s[keys[i]] == roleTable, s[keys[j]] == roleTable
		if ti != tj {
			return ti
		}
		return keys[i] < keys[j]
	})
	return keys
}

// call checks the function of n, a FUNCTION or WINDOW, which one of kinds must allow. A method call (column.upper()) becomes a plain one,
// so that no name before the function is left to mean a schema.
func (c *checker) call(n node, kinds ...FunctionKind) error {
	name, schema, db := strings.ToLower(n.str("function_name")), n.str("schema"), n.str("catalog")
	n["function_name"] = name
	switch {
	case isOperator(name), schema == "" || lowerEqual(schema, "main") && db == "":
	case db != "" && lowerEqual(schema, "main"), schemaOfEngine(schema), schemaOfEngine(db):
		return c.refuse(n, "function %s is not accepted with a schema", joinName([]string{schema, name}))
	case n.class() == "FUNCTION" && kinds[0] != TableFunction:
		receiver := []string{schema}
		if db != "" {
			receiver = []string{db, schema}
		}
		n["children"] = append(exprs(newColumn(n, receiver...)), n.list("children")...)
	default:
		return c.refuse(n, "function %s is not accepted with a schema", joinName([]string{schema, name}))
	}
	n["schema"], n["catalog"] = "", ""
	if name == matchFunction && kinds[0] == Scalar {
		return c.checkMatch(n)
	}
	for _, k := range kinds {
		if c.functions.Allowed(k, name) {
			return nil
		}
	}
	if isOperator(name) {
		return c.refuse(n, "operator %s is not accepted", name)
	}
	return c.refuse(n, "function %s is not accepted%s", joinName([]string{name}), nearestList(c.functions.Suggest(kinds[0], name)))
}

// schemaOfEngine reports whether name is a schema or database that every engine instance has.
func schemaOfEngine(name string) bool {
	switch strings.ToLower(name) {
	case "pg_catalog", "information_schema", "system", "temp", "memory", "main":
		return true
	}
	return false
}

// tableFunction checks the call in FROM function(…).
func (c *checker) tableFunction(n node, ctes *cteScope) error {
	if n.class() != "FUNCTION" {
		return c.refuse(n, "%s is not accepted as a table", n.kind())
	}
	if err := c.call(n, TableFunction); err != nil {
		return err
	}
	return c.fields(n, c.shapes.exprs["FUNCTION"], ctes)
}

// typ checks the type of a cast: built-in types by id, and names of types that stand for one.
func (c *checker) typ(n, t node) error {
	id, info := t.str("id"), t.sub("type_info")
	if info == nil {
		if typeClass(id) != classUnknown || otherType(id) {
			return nil
		}
		return c.refuse(n, "type %s is not accepted", clip(id))
	}
	if alias := info.str("alias"); alias != "" && alias != "JSON" {
		return c.refuse(n, "type %s is not accepted", clip(alias))
	}
	switch info.kind() {
	case "DECIMAL_TYPE_INFO", "GENERIC_TYPE_INFO", "STRING_TYPE_INFO":
		if typeClass(id) != classUnknown || otherType(id) {
			return nil
		}
	case "LIST_TYPE_INFO", "ARRAY_TYPE_INFO":
		return c.typ(n, info.sub("child_type"))
	case "STRUCT_TYPE_INFO":
		for _, e := range info.list("child_types") {
			if err := c.typ(n, asNode(e).sub("second")); err != nil {
				return err
			}
		}
		return nil
	case "UNBOUND_TYPE_INFO":
		return c.namedType(n, info)
	}
	return c.refuse(n, "type %s is not accepted", clip(id))
}

// otherType reports whether id is a built-in type that typeClass does not class.
func otherType(id string) bool {
	switch id {
	case "BLOB", "BIT", "UUID", "TIME", "TIME WITH TIME ZONE", "TIME_NS", "NULL":
		return true
	}
	return false
}

// namedType checks a type that the parser left as a name.
func (c *checker) namedType(n, info node) error {
	name := strings.ToLower(info.str("name"))
	switch name {
	case "json", "uuid", "varchar", "text", "string", "char", "bpchar", "nvarchar", "timestamptz", "timestamp", "datetime", "timestamp_s",
		"timestamp_ms", "timestamp_us", "timestamp_ns", "date", "time", "timetz", "interval", "bigint", "int8", "long", "int", "int4", "integer",
		"signed", "smallint", "int2", "short", "tinyint", "int1", "hugeint", "int128", "uhugeint", "ubigint", "uinteger", "usmallint", "utinyint",
		"double", "float8", "float", "float4", "real", "decimal", "numeric", "dec", "boolean", "bool", "logical", "blob", "bytea", "binary",
		"varbinary", "bit", "bitstring", "list", "struct", "row", "map", "array", "union":
		if info.str("schema") == "" && info.str("catalog") == "" {
			return nil
		}
	}
	return c.refuse(n, "type %s is not accepted", joinName([]string{name}))
}
