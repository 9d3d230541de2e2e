package duck

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/millstream/millstream/internal/fault"
)

// MaxStatementBytes is the longest SQL text that is accepted from outside.
const MaxStatementBytes = 256 << 10

// interruptEvery is the pause between interrupts while a canceled call winds down. One interrupt is not enough: DuckDB forgets one
// that arrives before the statement has started.
const interruptEvery = 2 * time.Millisecond

// Version returns the version of the linked DuckDB library, such as "v1.5.6".
func Version() string { return bindings.LibraryVersion() }

// settings is what distinguishes one sandbox from another.
type settings struct {
	memoryBytes int64
	tempBytes   int64
	threads     int
	tempDir     string   // its own, exists
	dataDirs    []string // absolute, readable
}

// statements returns the SET statements that close the sandbox, in the order that DuckDB needs: directories before external access,
// the lock last.
func (s settings) statements() []string {
	var dirs []string
	for _, d := range s.dataDirs {
		d = strings.TrimRight(d, "/") + "/"
		dirs = append(dirs, quote(d))
		if pattern := PatternPath(d); pattern != d { // DuckDB checks the text of a path before it expands it
			dirs = append(dirs, quote(pattern))
		}
	}
	own := quote(s.tempDir)
	return []string{
		"SET GLOBAL TimeZone='UTC'",
		"SET GLOBAL Calendar='gregorian'",
		fmt.Sprintf("SET GLOBAL memory_limit='%dB'", s.memoryBytes),
		"SET GLOBAL temp_directory=" + own,
		fmt.Sprintf("SET GLOBAL max_temp_directory_size='%dB'", s.tempBytes),
		"SET GLOBAL threads=" + strconv.Itoa(s.threads),
		"SET GLOBAL preserve_insertion_order=false",
		"SET GLOBAL parquet_metadata_cache=true",
		"SET GLOBAL errors_as_json=true",
		"SET GLOBAL autoinstall_known_extensions=false",
		"SET GLOBAL autoload_known_extensions=false",
		"SET GLOBAL allow_community_extensions=false",
		"SET GLOBAL allow_persistent_secrets=false",
		"SET GLOBAL home_directory=" + own,
		"SET GLOBAL extension_directory=" + own,
		"SET GLOBAL secret_directory=" + own,
		"SET GLOBAL allowed_directories=[" + strings.Join(dirs, ", ") + "]",
		"SET GLOBAL enable_external_access=false",
		"SET GLOBAL lock_configuration=true",
	}
}

// engine is one DuckDB database with one connection. It is used by one goroutine at a time.
type engine struct {
	db       bindings.Database
	conn     bindings.Connection
	settings settings
	doubtful bool // an error left it in a state that is not worth trusting
}

// openEngine opens an empty database, creates the trusted macros and closes the sandbox. It owns s.tempDir from then on.
func openEngine(s settings) (*engine, error) {
	if err := os.MkdirAll(s.tempDir, 0o700); err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "no room for temporary files")
	}
	e := &engine{settings: s}
	var config bindings.Config
	if bindings.CreateConfig(&config) == bindings.StateError {
		e.close()
		return nil, fault.New(fault.Internal, "create engine configuration")
	}
	defer bindings.DestroyConfig(&config)
	var msg string
	if bindings.OpenExt(":memory:", &e.db, config, &msg) == bindings.StateError {
		e.close()
		return nil, fault.New(fault.Internal, "open engine: %s", msg)
	}
	if err := e.connect(); err != nil {
		e.close()
		return nil, err
	}
	if err := e.registerGuards(); err != nil {
		e.close()
		return nil, err
	}
	macros := "BEGIN; " + strings.Join(macroStatements(), "; ") + "; COMMIT"
	for _, sql := range append([]string{macros}, s.statements()...) {
		if err := e.exec(sql); err != nil {
			e.close()
			return nil, fmt.Errorf("set up engine: %w", err)
		}
	}
	return e, nil
}

func (e *engine) connect() error {
	if bindings.Connect(e.db, &e.conn) == bindings.StateError {
		return fault.New(fault.Internal, "connect to engine")
	}
	return nil
}

// reconnect drops all that belongs to the connection: temporary tables and views, prepared statements, variables, a transaction.
func (e *engine) reconnect() error {
	bindings.Disconnect(&e.conn)
	return e.connect()
}

// close frees the database and removes its temporary files.
func (e *engine) close() {
	bindings.Disconnect(&e.conn)
	bindings.Close(&e.db)
	// A leftover only costs disk until the next start, which removes it.
	_ = os.RemoveAll(e.settings.tempDir)
}

// exec runs one statement without a result.
func (e *engine) exec(sql string) error {
	var res bindings.Result
	defer bindings.DestroyResult(&res)
	if bindings.Query(e.conn, sql, &res) == bindings.StateError {
		return e.fail(bindings.ResultError(&res))
	}
	return nil
}

// guard interrupts the connection from the moment ctx ends until the returned function is called, which waits for the interrupting to
// stop and maps err: an interrupt becomes the context's error.
func (e *engine) guard(ctx context.Context) func(err error) error {
	done, stopped := make(chan struct{}), make(chan struct{})
	conn := e.conn
	cancel := context.AfterFunc(ctx, func() {
		defer close(stopped)
		tick := time.NewTicker(interruptEvery)
		defer tick.Stop()
		for {
			bindings.Interrupt(conn)
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	return func(err error) error {
		close(done)
		if !cancel() {
			<-stopped
			e.doubtful = true
			return context.Cause(ctx)
		}
		return err
	}
}

// fail maps a message of the engine to an error and remembers whether the engine can still be trusted.
func (e *engine) fail(msg string) error {
	err, doubtful := e.settings.engineError(msg)
	e.doubtful = e.doubtful || doubtful
	return err
}
