// Package promeval evaluates parts of a PromQL range query without the Prometheus engine, and gives the engine their results: aggregations
// over functions of ranges, as in sum by (job) (rate(m[5m])), and over series as they are. They are most of what dashboards cost.
//
// Engine is a promql.QueryEngine around another one. A part that it takes stands in the query that the engine sees as a selector of the
// same length, so that positions in warnings stay, and its series come with a value or a staleness marker at every step. Series are read
// once into a row of points, and every window is a slice of that row; series are shared among the processors. The functions of the windows
// are the engine's own but for rate and increase, which take the same steps without looking at every point of a window again. Values are
// added in the engine's order with its compensated sum, so that answers are the same to the bit. What the package cannot do in that way
// (histograms, sums that overflow) goes to the engine as a whole.
//
// All selectors of a query read from one storage.Querier. The package imports Prometheus' packages alone.
package promeval
