package wal

import (
	"io"
	"io/fs"
)

// FS is the part of a file system the log uses. Names are slash-separated paths as given in Options.Dir. Implementations are safe
// for concurrent use and return errors that match fs.ErrNotExist and syscall.ENOSPC where these are the cause.
type FS interface {
	// Create makes a new file for reading and writing; it is an error if the name exists.
	Create(name string) (File, error)
	// Open opens an existing file for reading and writing.
	Open(name string) (File, error)
	// ReadDir lists a directory in order of names.
	ReadDir(dir string) ([]fs.DirEntry, error)
	// MkdirAll makes a directory and its parents; existing ones are fine.
	MkdirAll(dir string) error
	// Remove deletes a file or an empty directory.
	Remove(name string) error
	// Rename replaces newName by oldName atomically. Both lie in one directory.
	Rename(oldName, newName string) error
	// SyncDir makes creations, removals and renames inside dir durable.
	SyncDir(dir string) error
	// Space returns the size of the file system that holds dir and what unprivileged writers can still take of it, in bytes.
	Space(dir string) (total, free int64, err error)
	// Lock takes an exclusive lock that ends with the returned Closer or with the process, or fails at once.
	Lock(name string) (io.Closer, error)
}

// File is an open file. WriteAt is not called concurrently with itself.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Truncate cuts the file to size bytes.
	Truncate(size int64) error
	// Sync makes content and size durable. After an error the state of unsynced bytes is unknown.
	Sync() error
	// Size returns the length in bytes.
	Size() (int64, error)
}
