// Package cli is the command line: "millstream" alone serves, the other commands are clients of a server's HTTP API.
//
// Tables are for terminals, -o json for scripts. Clients read the server's address, the org and the token from flags or from
// MILLSTREAM_ADDR, MILLSTREAM_ORG and MILLSTREAM_TOKEN; the server's own settings come from internal/config alone. Exit codes: 0 done,
// 1 failed, 2 wrong usage.
package cli
