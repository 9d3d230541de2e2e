// Package saved keeps what row buckets hold across restarts, in one small file of the data directory.
//
// The file is written once a second while it changes, at once when a large batch left a debt, and at the end. It names the buckets that are
// not full and says whether it is the last word of its process: after a crash up to a second is missing, and buckets that it does not name
// begin empty (quota.Rows.Restore). It is replaced atomically, so that a crash leaves the old file or the new one.
//
// A file that cannot be read is as one after a crash that names nothing: limits must not keep a node from starting.
package saved
