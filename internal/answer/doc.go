// Package answer writes the result of a query in the formats of the query API: JSON, NDJSON, CSV and an Arrow stream.
//
// Results come as Arrow records whose fields carry the engine's type name under the metadata key TypeKey, so the package links no
// engine and serves routers as well. Cells follow decisions A9: integers of any width as JSON numbers with all digits, DECIMAL as
// text, times RFC 3339 in UTC with as many digits as needed, BLOB base64, NaN and infinities as "NaN", "+Inf", "-Inf", nested
// values as JSON.
//
// A result that ends early says so: the statistics come last in every format, and without them an answer is incomplete.
//
// The package must not import roles, edges or internal/duck.
package answer
