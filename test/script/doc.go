// Package script tells stories of people at the command line: the .txtar files run the built program against a real server.
//
// Each story has an org of its own at a server that all share ($MILLSTREAM_ADDR, $MILLSTREAM_ORG), or starts one of its own. Beside
// testscript's commands there are: wait-for FILE TEXT, which waits until a file holds a text; rows FILE N, which writes N numbered
// rows of JSON lines; and kill-when FILE TEXT, which kills the programs in the background with SIGKILL once FILE holds TEXT.
package script
