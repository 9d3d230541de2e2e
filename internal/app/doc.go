// Package app is the composition root: it turns the configuration into the platform, the roles and the listeners, and runs them
// as the stages of one group. It is the only package that knows which roles are on, and the only one that may import everything.
//
//	platform ─► sockets ─► identity ─► engine ─► listeners ─► membership ─► ingest ─► compactor ─► requests
//
// Stages start in that order, those that the roles need, and stop in reverse: the node leaves the member lists and finishes its
// requests, buffers are flushed while other nodes may still read them, engines and pools close. Ports open before the replay of the
// log, so that health and progress can be seen; they answer 503 to the rest until then.
package app
