package esbulk

import (
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/jsontext"
)

// action is one action line.
type action struct {
	name  string
	index string
	id    string
}

// hasSource reports whether a document follows the action.
func (a action) hasSource() bool { return a.name != "delete" }

// adds reports whether the action adds a row.
func (a action) adds() bool { return a.name == "create" || a.name == "index" }

// parseAction reads an action line. Members other than _index and _id (routing, pipeline, require_alias, …) mean nothing here.
func parseAction(s *jsontext.Scanner, text []byte) (action, error) {
	var a action
	s.Reset(text)
	err := s.Object(func(key []byte) error {
		if a.name != "" {
			return wire.Reject(wire.Malformed, "an action line has one action, this has %q behind %q", key, a.name)
		}
		switch string(key) {
		case "create", "index", "update", "delete":
			a.name = string(key)
		default:
			return wire.Reject(wire.Malformed, "unknown action %.32q (create and index are known)", key)
		}
		return s.Object(func(key []byte) error { return a.member(s, string(key)) })
	})
	if err == nil {
		err = s.End()
	}
	if err == nil && a.name == "" {
		err = wire.Reject(wire.Malformed, "the action line names no action")
	}
	return a, err
}

func (a *action) member(s *jsontext.Scanner, key string) error {
	var v jsontext.Value
	if err := s.Value(&v, 2); err != nil {
		return err
	}
	if v.Kind == jsontext.Null || v.Kind == jsontext.JSON {
		return nil
	}
	switch key {
	case "_index":
		a.index = string(v.Text)
	case "_id":
		a.id = string(v.Text)
	}
	return nil
}
