// Package filecache makes objects readable as whole local files, which is what the SQL engine reads (decisions A8).
//
// A store that is a folder of this machine is read in place. Objects of any other store are copied into a folder of bounded size:
//
//   - one fetch at a time for an object, whoever asks, and several objects of a plan at a time, in the plan's order;
//   - a copy is checked against the segment's size and checksum before anybody reads it, and gets its name in one step;
//   - copies survive a restart and are checked again at their first use. Their order of use is lost: the oldest file goes first;
//   - pinned files are never evicted, and a plan that can never fit fails before it fetches anything. Bytes are reserved before they are
//     fetched, so the folder outgrows neither its bound nor what its file system has beyond MinFree.
//
// Files lie below a folder of their org (Dir), so that an engine instance can be confined to it. Use: New, Pin, release. A Cache is safe
// for concurrent use and starts no goroutine.
//
// The package imports the contracts catalog and objstore and columnar's checksum.
package filecache
