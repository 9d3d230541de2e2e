// Package e2e tests what clients may rely on, over HTTP and gRPC against the real program: the cases of docs/format and docs/protocol
// that other stores got wrong (TestCase…, numbered as in the project's list), the query API in all its formats, limits, orgs that
// must not see or hurt each other, and the endpoints for operators.
//
// Each test has a server of its own. What must hold for rows does so in every stage of their life: while they are in memory, after a
// kill that makes the log their only copy, and once they are files (see store.stages).
//
// The tests import no package of the product: what they know of it stands in the docs. Those that move millions of rows are behind
// the build tag long; make test runs them with fewer.
package e2e
