// Package query tests the querier with a real catalog, real data files and the real engine; only the writers' buffers are a double.
// One test binary links the engine for all of it. Tests that take minutes have the build tag long.
package query
