package rules

import (
	"encoding/json"
	"maps"
	"unicode/utf8"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
)

// storedColumn is a SegmentColumn as stored. JSON has no byte strings and a cut bound may end inside a rune, so bounds that are
// not UTF-8 are base64 in both fields: a bound that changed on its way would prune files that hold matching rows.
type storedColumn struct {
	catalog.SegmentColumn

	Base64 bool `json:"b,omitempty"`
}

// EncodeColumns returns the stored form of a segment's columns.
func EncodeColumns(columns []catalog.SegmentColumn) (string, error) {
	stored := make([]storedColumn, len(columns))
	for i, c := range columns {
		if !utf8.ValidString(c.Min) || !utf8.ValidString(c.Max) {
			c.Min, c.Max = encode64(c.Min), encode64(c.Max)
			stored[i].Base64 = true
		}
		stored[i].SegmentColumn = c
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return "", fault.Wrap(fault.Internal, err, "encode a segment's columns")
	}
	return string(text), nil
}

// EncodeOptions returns the stored form of options.
func EncodeOptions(options map[string]string) (string, error) {
	if len(options) == 0 {
		return "{}", nil
	}
	text, err := json.Marshal(options)
	if err != nil {
		return "", fault.Wrap(fault.Internal, err, "encode options")
	}
	return string(text), nil
}

// DecodeOptions reads what EncodeOptions wrote; the map is never nil.
func DecodeOptions(text string) (map[string]string, error) {
	options := map[string]string{}
	if err := json.Unmarshal([]byte(text), &options); err != nil {
		return nil, fault.Wrap(fault.Corrupt, err, "decode options")
	}
	return options, nil
}

// ApplyOptions sets options and removes those whose value is nil.
func ApplyOptions(options map[string]string, changes map[string]*string) {
	for k, v := range changes {
		if v == nil {
			delete(options, k)
			continue
		}
		options[k] = *v
	}
}

// DatasetOptions returns the options that hold for a dataset: those of its database, overlaid by those of its stream. stream is
// empty for a dataset that several streams share.
func DatasetOptions(database, stream string) (map[string]string, error) {
	options, err := DecodeOptions(database)
	if err != nil || stream == "" {
		return options, err
	}
	own, err := DecodeOptions(stream)
	if err != nil {
		return nil, err
	}
	maps.Copy(options, own)
	return options, nil
}
