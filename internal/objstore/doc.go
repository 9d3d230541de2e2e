// Package objstore is the contract over the place where data files lie, with the two stores that need no network: a folder (Local)
// and memory (Memory, for tests). Package cloud adds S3, Google Cloud Storage and Azure.
//
// # Keys
//
// A key is a relative slash-separated path, beginning with the org's id: CheckKey tells which bytes it may hold. Every byte that an
// org's id or a stream's name may hold is allowed, and every store gives a key back exactly as it was put. No key may be a folder of
// another ("a" beside "a/b"): a file system cannot hold both.
//
// # Promises
//
//   - Put and PutFile publish a whole object or nothing; a reader never sees half of one. When they return nil the object is
//     durable: a folder's store has synced the file and every folder above it. The log of rows is cut after that.
//   - Put on an existing key replaces it; readers that opened the old object read on in it.
//   - Delete of a missing object succeeds, so that every sweep may run twice.
//   - A missing object is ErrNotFound (fault.NotFound). A store that cannot be reached, is full or refuses is fault.Unavailable.
//   - All stores and decorators are safe for concurrent use and obey the context.
//
// Instrument counts, Retry repeats; both are decorators. faultstore injects errors and objstoretest holds the acceptance suite that
// every store passes. The package imports fault, Prometheus' registry and a file library, and nothing of the catalog: what is
// stored under which key is the caller's knowledge.
package objstore
