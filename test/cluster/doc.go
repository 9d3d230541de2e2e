// Package cluster holds the tests of clusters: processes of one role each, over a real PostgreSQL and a real S3 server.
package cluster
