package sqlplan

// Statement is what Parse returns: a *Query or one of our own statements.
type Statement interface {
	// Writes reports whether the statement changes the catalog.
	Writes() bool
}

// Name is a name in dots as the user wrote it, with the byte offset of its first part.
type Name struct {
	Parts  []string // 1 to 3
	Offset int
}

// ShowStreams is SHOW STREAMS|TABLES [FROM database] [LIKE 'pattern'].
type ShowStreams struct {
	Database string // empty: that of the request
	Like     string // pattern of LIKE, if HasLike
	HasLike  bool
}

// ShowDatabases is SHOW [FULL] DATABASES [LIKE 'pattern'].
type ShowDatabases struct {
	Full    bool
	Like    string
	HasLike bool
}

// ShowCreateDatabase is SHOW CREATE DATABASE name.
type ShowCreateDatabase struct{ Database string }

// Describe is DESCRIBE|DESC stream.
type Describe struct {
	Stream Name
	text   string
}

// CreateDatabase is CREATE DATABASE [IF NOT EXISTS] name [WITH ('option'='value', …)]. Options are checked and in canonical form.
type CreateDatabase struct {
	Database    string
	IfNotExists bool
	Options     map[string]string
}

// AlterDatabase is ALTER DATABASE name SET 'option'='value', … or UNSET 'option', …: nil removes an option.
type AlterDatabase struct {
	Database string
	Options  map[string]*string
}

// AlterStream is ALTER STREAM name SET|UNSET …, as AlterDatabase.
type AlterStream struct {
	Stream  Name
	Options map[string]*string
	text    string
}

// DropDatabase is DROP DATABASE [IF EXISTS] name.
type DropDatabase struct {
	Database string
	IfExists bool
}

// Writes implements Statement.
func (*ShowStreams) Writes() bool { return false }

// Writes implements Statement.
func (*ShowDatabases) Writes() bool { return false }

// Writes implements Statement.
func (*ShowCreateDatabase) Writes() bool { return false }

// Writes implements Statement.
func (*Describe) Writes() bool { return false }

// Writes implements Statement.
func (*CreateDatabase) Writes() bool { return true }

// Writes implements Statement.
func (*AlterDatabase) Writes() bool { return true }

// Writes implements Statement.
func (*AlterStream) Writes() bool { return true }

// Writes implements Statement.
func (*DropDatabase) Writes() bool { return true }

// Writes implements Statement.
func (*Query) Writes() bool { return false }
