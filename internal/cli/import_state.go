package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// importTarget is where the rows of a file go.
type importTarget struct {
	Addr     string `json:"addr"`
	Org      string `json:"org,omitempty"`
	Database string `json:"database,omitempty"`
	Stream   string `json:"stream"`
}

// importState is how far the import of a file is. Every row before Offset is stored or refused; the rows of Pending may be, and no
// row behind them is.
type importState struct {
	Version  int           `json:"version"`
	File     fileIdentity  `json:"file"`
	Target   importTarget  `json:"target"`
	Offset   int64         `json:"offset"` // bytes of lines, inflated
	Line     int64         `json:"line"`   // lines before Offset
	Accepted int64         `json:"accepted"`
	Rejected int64         `json:"rejected"`
	Pending  *pendingBatch `json:"pending,omitempty"`
	Done     bool          `json:"done,omitempty"` // the file was read to its end
}

// pendingBatch is a batch on its way to the server.
type pendingBatch struct {
	End    int64  `json:"end"`    // offset behind it
	Rows   int64  `json:"rows"`   // sent
	Marker string `json:"marker"` // condition that some of its rows fulfill; empty if there is none
	Before int64  `json:"before"` // rows of the stream that fulfilled it before the batch was sent
}

const stateVersion = 1

// stateStore keeps a state in a file.
type stateStore struct{ path string }

// newStateStore returns the store of a file's import: beside the file, or in dir under a name that tells files of different folders
// apart.
func newStateStore(file, dir string) (*stateStore, error) {
	if dir == "" {
		return &stateStore{file + ".millstream"}, nil
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", file, err)
	}
	const private = 0o700
	if err := os.MkdirAll(dir, private); err != nil {
		return nil, fmt.Errorf("make the folder of states: %w", err)
	}
	const digits = 8
	sum := sha256.Sum256([]byte(abs))
	name := filepath.Base(file) + "-" + hex.EncodeToString(sum[:digits]) + ".millstream"
	return &stateStore{filepath.Join(dir, name)}, nil
}

// load returns the state, nil if there is none.
func (s *stateStore) load() (*importState, error) {
	text, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // no state is no error
	}
	if err != nil {
		return nil, fmt.Errorf("read how far the import is: %w", err)
	}
	var state importState
	if err := json.Unmarshal(text, &state); err != nil {
		return nil, fmt.Errorf("%s is damaged (--restart begins again): %w", s.path, err)
	}
	if state.Version != stateVersion {
		return nil, fmt.Errorf("%s has version %d, this program reads %d (--restart begins again)", s.path, state.Version, stateVersion)
	}
	return &state, nil
}

// save replaces the state on disk at once and for good.
func (s *stateStore) save(state importState) error {
	return s.write(state)
}

// write replaces what is on disk by a state of either kind.
func (s *stateStore) write(state any) error {
	text, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("write how far the import is: %w", err)
	}
	const mode = 0o600
	if err := renameio.WriteFile(s.path, append(text, '\n'), mode); err != nil {
		return fmt.Errorf("note how far the import is (--state names another folder): %w", err)
	}
	return nil
}

// restore prepares the state: that of an earlier run if it belongs to this file and this target, else a new one.
func (r *importRun) restore(src *source) error {
	r.state = importState{Version: stateVersion, Target: r.target}
	if src.file == nil {
		return nil
	}
	var err error
	if r.store, err = newStateStore(r.name, r.options.stateDir); err != nil {
		return err
	}
	if r.state.File, err = src.identify(0); err != nil {
		return err
	}
	if r.options.restart {
		return nil
	}
	old, err := r.store.load()
	if err != nil || old == nil {
		return err
	}
	if old.Target != r.target {
		return usagef("%s: was imported into %s of %s, not %s of %s (--restart begins again, --state keeps apart)",
			r.name, old.Target.Stream, old.Target.Addr, r.target.Stream, r.target.Addr)
	}
	now, err := src.identify(max(old.File.Head, 1))
	if err != nil {
		return err
	}
	if (old.File.Head > 0 && now.Hash != old.File.Hash) || src.size < old.File.Size {
		return usagef("%s: is not the file whose import began (its beginning changed, or it is shorter; --restart begins again)", r.name)
	}
	head := r.state.File
	r.state = *old
	r.state.File, r.state.Done = head, false
	return nil
}

// save writes the state, if the input has one.
func (r *importRun) save() error {
	if r.store == nil {
		return nil
	}
	return r.store.save(r.state)
}
