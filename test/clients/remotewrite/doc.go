// Package remotewrite runs Prometheus' own remote write client, with the log of a real TSDB behind it, against the real server.
package remotewrite
