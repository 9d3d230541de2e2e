// Package holders reads the fresh rows of all nodes that hold some: what the querier needs of a cluster's buffers.
//
// The catalog lists every writer epoch that may hold unflushed rows (decisions C2). A read asks the process of each epoch for its
// rows and checks that the answer covers the epoch. What is not covered is looked up again: an epoch that is not listed any more has
// all its rows in the catalog, which the query reads afterwards; one that moved to another address is asked there; any other is
// named in a warning, and the answer may lack its rows.
//
// The list may be Options.ListFor old. That is never too short, since an epoch stands in the catalog for that time before its first
// row (ingest.Options.ListedFor).
//
// The package imports the contracts catalog and fresh; it must not import engines, other roles or edges.
package holders
