package catalog

import "github.com/millstream/millstream/internal/fault"

// What callers branch on with errors.Is. Implementations wrap them with the name concerned.
var (
	ErrNoDatabase     = fault.New(fault.NotFound, "database not found")
	ErrDatabaseExists = fault.New(fault.Conflict, "database already exists")
	ErrTooManyStreams = fault.New(fault.Limited, "the org has all the streams that it may have")
	ErrNoStream       = fault.New(fault.NotFound, "stream not found")
	ErrConflict       = fault.New(fault.Conflict, "a source segment is not live any more")
	ErrIndexChanged   = fault.New(fault.Conflict, "the segment is not live any more or has another index")
	ErrSecretChanged  = fault.New(fault.Conflict, "another secret is stored")
	ErrTokenExists    = fault.New(fault.Conflict, "token already exists")
	ErrNoToken        = fault.New(fault.NotFound, "token not found")
	ErrTooManyTokens  = fault.New(fault.Conflict, "there are too many tokens; revoke those that nobody uses")
	ErrDefaultDropped = fault.New(fault.Invalid, "the default database cannot be dropped")
	// ErrSchema is returned when the catalog's tables are of another version than the one this program knows.
	ErrSchema = fault.New(fault.Internal, "the catalog's schema is not the one this program knows")
)
