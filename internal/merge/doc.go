// Package merge puts the answers to the parts of a split query together (answer.Split), without the SQL engine.
//
// Rows concatenates parts that are in the order of time. Groups joins rows that have the same keys: sums and counts add up, least and
// greatest values are compared, averages are made of sums and counts, all in the types that the engine gives: HUGEINT and DECIMAL in 128
// bits, floats as they come, so that their last bits may differ from a sum over everything.
//
// Whatever cannot be put together exactly — parts whose columns differ, a type without an order that is known here, a sum that no longer
// fits, too many groups — is ErrUnsupported, and the caller asks the whole question instead.
//
// The package imports answer and Arrow.
package merge
