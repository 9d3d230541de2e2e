// Package agents replays what log shippers send that are not Go packages we could run: Promtail, Grafana Alloy, Filebeat, Logstash,
// Vector and Fluent Bit. Each is the bytes of its requests in its order of headers, sent over a plain TCP connection, and its rule for
// sending again; README.md names the source of each. The server is stopped and started while they send: no row may be missing.
//
// The requests are written anew from what the sources do; no code of theirs is here.
package agents
