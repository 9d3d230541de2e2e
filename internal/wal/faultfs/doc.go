// Package faultfs is a file system in memory for tests of the log. It fails on demand ([FS.Inject], [FS.SetCapacity]) and shows what a
// power cut would leave ([FS.Crash]): content that was synced is certain, anything else is old, new or torn by sector; names are
// certain once their directory was synced, later changes of a directory survive up to a random one.
//
// It is stricter than most real file systems: fsync of a file does not make its name durable, and what was dirty at a failed fsync
// stays uncertain even after a later fsync that succeeds. Test code only; it imports wal for the interface it implements.
package faultfs
