// Package sqlplanduck lets package sqlplan plan with package duck: it adapts duck's parser, its list of functions and its errors.
//
// It holds no state and is safe for concurrent use. It is the only package of planning that links the engine, so whoever can plan without
// it does not import it. It imports duck and sqlplan and nothing else of the project.
package sqlplanduck
