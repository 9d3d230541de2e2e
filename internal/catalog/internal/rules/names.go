package rules

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

// NewColumns returns the columns to add so that a stream with the columns known has all of names: ids go on from the greatest, in
// the order of names. It is deterministic, so two engines name alike.
func NewColumns(known []catalog.Column, names []string) []catalog.Column {
	taken := make(map[string]struct{}, len(known)+len(names)) // folded physical names
	have := make(map[string]struct{}, len(known)+len(names))
	var last catalog.ColumnID
	for _, c := range known {
		taken[fold(c.Physical)] = struct{}{}
		have[c.Name] = struct{}{}
		last = max(last, c.ID)
	}
	var added []catalog.Column
	for _, name := range names {
		if _, ok := have[name]; ok {
			continue
		}
		have[name] = struct{}{}
		last++
		physical := freeName(taken, storable(name))
		taken[fold(physical)] = struct{}{}
		added = append(added, catalog.Column{ID: last, Name: name, Physical: physical})
	}
	return added
}

// freeName returns name, or name with the least suffix from __2 on that no older column has in any case.
func freeName(taken map[string]struct{}, name string) string {
	candidate := name
	for n := 2; ; n++ {
		if _, ok := taken[fold(candidate)]; !ok {
			return candidate
		}
		candidate = name + "__" + strconv.Itoa(n)
	}
}

// fold maps names that some SQL engine may take for one column to one text. DuckDB folds ASCII alone, Spark all of Unicode.
func fold(name string) string { return strings.ToLower(name) }

// storable replaces what neither a C string nor a text column can hold: NUL and invalid UTF-8. It is never empty.
func storable(name string) string {
	if name == "" {
		return "_empty"
	}
	return strings.ReplaceAll(strings.ToValidUTF8(name, "\uFFFD"), "\x00", "\uFFFD")
}

// DatasetName returns the name of the dataset that stores a stream: all metrics of a database share one.
func DatasetName(s signal.Signal, stream string) string {
	if s == signal.Metrics {
		return ""
	}
	return stream
}

// CheckStreams checks that the streams are of one org and database and have names that can be stored.
func CheckStreams(streams []signal.Stream) error {
	for _, s := range streams {
		if s.Org != streams[0].Org || s.Database != streams[0].Database {
			return fault.New(fault.Invalid, "streams of several databases: %s and %s", streams[0], s)
		}
		if err := errors.Join(CheckText("database", s.Database), CheckText("stream", s.Name)); err != nil {
			return err
		}
	}
	return nil
}

// CheckText checks that a name is text that both engines store: UTF-8 without NUL. What names may look like is decided at the edges.
func CheckText(what, name string) error {
	if !isText(name) {
		return fault.New(fault.Invalid, "%s name %.64q is not text", what, name)
	}
	return nil
}

// Texts returns those of the keys that both engines store; no segment has another.
func Texts(keys []string) []string {
	out := make([]string, 0, len(keys))
	for _, key := range keys {
		if isText(key) {
			out = append(out, key)
		}
	}
	return out
}

func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// Dedup returns the items without repeats, in their order.
func Dedup[T comparable](items []T) []T {
	seen := make(map[T]struct{}, len(items))
	out := make([]T, 0, len(items))
	for _, v := range items {
		if _, ok := seen[v]; !ok {
			seen[v] = struct{}{}
			out = append(out, v)
		}
	}
	return out
}

// WithDefault adds the default database to the databases of an org, sorted by name, unless it is among them: it exists before
// anything is stored in it.
func WithDefault(databases []catalog.Database, org tenant.ID) []catalog.Database {
	at, found := slices.BinarySearchFunc(databases, signal.DefaultDatabase, func(d catalog.Database, name string) int {
		return strings.Compare(d.Name, name)
	})
	if found {
		return databases
	}
	return slices.Insert(databases, at, catalog.Database{Org: org, Name: signal.DefaultDatabase, Options: map[string]string{}})
}

// InOrder returns the found streams in the order asked.
func InOrder(asked []signal.Stream, found map[signal.Stream]catalog.Stream) []catalog.Stream {
	out := make([]catalog.Stream, len(asked))
	for i, s := range asked {
		out[i] = found[s]
	}
	return out
}
