// Package ingress is the front that every client write passes, on routers and on intake nodes: how the body is inflated, which
// decoder reads it, and the hand-over of batches to a Writer.
//
// Order of checks: authentication (package auth, before this one is called), the org's share of the memory of bodies, inflating within the
// limit, the org's byte rate, decoding, writing. Bodies of JSON lines have no total limit and are charged and written piece by piece while
// they are read; all others are read within Limits.MaxBodyBytes and pass the rate as a whole or not at all.
//
// The package must not import roles or edges: httpapi and otlpgrpc call it and turn its errors into answers.
package ingress
