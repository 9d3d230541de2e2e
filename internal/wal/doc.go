// Package wal is the write-ahead log of a process: one log for all datasets, with group commit.
//
// Records are opaque bytes under a [Key] (dataset, node, writer epoch) and an ascending sequence number. [Log.Enqueue] puts a
// record into the group that is written next and gives it an [LSN]; [Log.Wait] returns when that group is on disk. The caller
// enqueues under its own lock of the dataset, so order of Enqueue = order in the log = order of LSNs.
//
// Life: [Open] locks the directory, repairs the tail and starts one goroutine, the committer; [Log.Replay] hands out what an
// earlier process left and must succeed before the first Enqueue when there is anything; [Log.Close] writes what is pending,
// waits for the committer and unlocks.
//
// Invariants:
//   - Wait returns nil only after write, fsync and (for a new file) fsync of the directory, except under [SyncNone].
//   - A group that fails takes every group enqueued behind it with it, and Enqueue refuses until Deps.OnGroup has returned for the
//     failure: for each key the surviving sequence numbers are a prefix, so a caller may give a failed number again.
//   - A failed write is cut off again before the next group; after a failed fsync the segment is left for good and its
//     unconfirmed LSNs are named in the header of the next one, so no failed record comes back beside its successor.
//   - Damage costs the damaged records alone: the reader finds the next valid record by the segment's random mark and checksums.
//   - A segment file goes away only when all its records are released ([Log.Release]) or copied aside ([Log.MoveAside]).
//   - The committer alone writes the active segment; no file is touched while Log.mu is held.
//
// Lock order: the caller's dataset lock, Log.moveMu, Log.mu. Deps.OnGroup is called with no lock of this package held.
//
// The file format is described in docs/format/wal.md. The package imports fault and clock and nothing else of the project.
package wal
