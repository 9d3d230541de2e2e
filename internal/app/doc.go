// Package app is the composition root: it turns the configuration into the platform, the roles and the listeners, and runs them
// as the stages of one group. It is the only package that knows which roles are on, and the only one that may import everything.
//
//	config ─► platform (catalog, objects, metrics) ─► ingest ─► querier, compactor ─► listeners
//
// Stages start in that order and stop in reverse: listeners finish their requests, buffers are flushed, engines and pools close.
// The HTTP port opens before the replay of the log, so that health and progress can be seen; it answers 503 to the rest until then.
package app
