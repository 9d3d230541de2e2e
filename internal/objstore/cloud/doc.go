// Package cloud opens the object store that the configuration names: a folder of this machine, S3 and what speaks its protocol,
// Google Cloud Storage or Azure Blob Storage, always counted and, over a network, repeated.
//
// It is a package of its own so that those who use objstore's contract do not link the cloud clients; only the composition root
// imports it. It imports objstore, fault and the clients of github.com/thanos-io/objstore.
package cloud
