package promeval

// Takes reports whether a query has a part.
func Takes(e *Engine, query string) bool {
	expr, err := e.opts.Parser.ParseExpr(query)
	return err == nil && makePlan(query, expr, e.opts.Parser.ParseExpr) != nil
}
