package saved

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/millstream/millstream/internal/quota"
	"github.com/millstream/millstream/internal/tenant"
)

// version is of the file's form.
const version = 1

// State is what the file says.
type State struct {
	Tokens map[quota.Database]quota.Tokens
	// Clean says that the process wrote it at its end, so nothing is missing.
	Clean bool
}

// document is the file's form.
type document struct {
	Version   int     `json:"version"`
	Clean     bool    `json:"clean"`
	Databases []entry `json:"databases"`
}

type entry struct {
	Org  tenant.ID `json:"org"`
	Name string    `json:"database"`
	quota.Tokens
}

// Read reads the file. One that does not exist is a clean State without buckets: nothing was ever spent.
func Read(path string) (State, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return State{Clean: true}, nil
	}
	if err != nil {
		return State{}, fmt.Errorf("read saved quotas: %w", err)
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return State{}, fmt.Errorf("read saved quotas in %s: %w", path, err)
	}
	if d.Version != version {
		return State{}, fmt.Errorf("read saved quotas in %s: it has version %d, this program knows %d", path, d.Version, version)
	}
	s := State{Tokens: map[quota.Database]quota.Tokens{}, Clean: d.Clean}
	for _, e := range d.Databases {
		s.Tokens[quota.Database{Org: e.Org, Name: e.Name}] = e.Tokens
	}
	return s, nil
}

// Write replaces the file. It is durable against a crash of the process, not against a power cut: a second of a rate is not worth an fsync.
func Write(path string, s State) error {
	d := document{Version: version, Clean: s.Clean, Databases: []entry{}}
	for name, t := range s.Tokens {
		d.Databases = append(d.Databases, entry{name.Org, name.Name, t})
	}
	slices.SortFunc(d.Databases, func(a, b entry) int { return cmp.Or(cmp.Compare(a.Org, b.Org), cmp.Compare(a.Name, b.Name)) })
	text, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("write saved quotas: %w", err)
	}
	next := path + ".new"
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return fmt.Errorf("write saved quotas: %w", err)
	}
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("write saved quotas: %w", err)
	}
	return nil
}
