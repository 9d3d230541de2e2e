// Package cli is the command line: "millstream" alone serves, the other commands are clients of a server's HTTP API.
//
// Tables are for terminals, -o json for scripts. Clients read the server's address and the org from flags or from MILLSTREAM_ADDR and
// MILLSTREAM_ORG; the server's own settings come from internal/config alone. Exit codes: 0 done, 1 failed, 2 wrong usage.
package cli
