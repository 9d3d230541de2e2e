// Package query tests the querier with a real catalog, real data files and the real engine; only the writers' buffers are a double.
// One test binary links the engine for all of it.
package query
