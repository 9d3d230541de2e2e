package catalog

import "github.com/millstream/millstream/internal/fault"

// What callers branch on with errors.Is. Implementations wrap them with the name concerned.
var (
	ErrNoDatabase     = fault.New(fault.NotFound, "database not found")
	ErrDatabaseExists = fault.New(fault.Conflict, "database already exists")
	ErrNoStream       = fault.New(fault.NotFound, "stream not found")
	ErrConflict       = fault.New(fault.Conflict, "a source segment is not live any more")
)
