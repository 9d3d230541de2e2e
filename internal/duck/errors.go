package duck

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/millstream/millstream/internal/fault"
)

// StatementError is a mistake of the statement as the engine describes it. It is the cause of a fault.Invalid error.
type StatementError struct {
	// Type is DuckDB's name of the exception: "Parser", "Binder", "Catalog", "Conversion", "Invalid Input", …
	Type string
	// Subtype narrows it: "SYNTAX_ERROR", "COLUMN_NOT_FOUND", "MISSING_ENTRY", or empty.
	Subtype string
	// Text is the engine's message without position and without paths of this server.
	Text string
	// Name is what was not found, or empty.
	Name string
	// Candidates are the nearest names that exist, best first, or nil.
	Candidates []string
	// Offset is the byte in the statement's text where the mistake is, counted from 0, or -1.
	Offset int
	// Line and Column (in characters) of Offset, counted from 1, or 0. Set by SerializeSQL, whose text is the user's own.
	Line, Column int
}

// Error implements error. It says what the log needs beside the message of the fault that e is the cause of.
func (e *StatementError) Error() string {
	s := "engine: " + e.Type
	if e.Subtype != "" {
		s += " " + e.Subtype
	}
	if e.Offset >= 0 {
		s += fmt.Sprintf(" at byte %d", e.Offset)
	}
	return s
}

// engineText is the shape of an error under errors_as_json. Values are strings, numbers too.
type engineText struct {
	Type       string `json:"exception_type"`
	Message    string `json:"exception_message"`
	Subtype    string `json:"error_subtype"`
	Name       string `json:"name"`
	Candidates string `json:"candidates"`
	Position   string `json:"position"`
}

// engineError maps an error of DuckDB. doubtful says that the instance should not be used again.
func (s settings) engineError(msg string) (err error, doubtful bool) { //nolint:revive // the error is the result, doubtful a remark
	t := parseEngineText(msg)
	switch t.Type {
	case "Out of Memory":
		return s.memoryError(msg, t.Message), true
	case "INTERRUPT", "Interrupt":
		return fault.New(fault.Canceled, "the statement was interrupted"), true
	case "Parser", "Syntax", "Binder", "Catalog", "Conversion", "Out of Range", "Invalid Input", "Not implemented", "Mismatch Type",
		"Invalid type", "Divide by Zero", "Decimal", "Expression", "Parameter Not Resolved", "Parameter Not Allowed", "Unknown Type",
		"Invalid Type", "Invalid", "Object Size", "Constraint":
		se := &StatementError{Type: t.Type, Subtype: t.Subtype, Text: s.scrub(t.Message), Name: t.Name, Offset: -1}
		if n, perr := strconv.Atoi(t.Position); perr == nil {
			se.Offset = n
		}
		if t.Candidates != "" {
			se.Candidates = strings.Split(t.Candidates, ",")
			for i := range se.Candidates {
				se.Candidates[i] = strings.TrimSpace(se.Candidates[i])
			}
		}
		return fault.Wrap(fault.Invalid, se, "%s error: %s", strings.ToLower(se.Type), se.Text), t.Type == "Invalid"
	case "Permission":
		return fault.Wrap(fault.Forbidden, fmt.Errorf("engine: %s", msg), "the statement asks for something that is not allowed here"), true
	default:
		return fault.Wrap(fault.Internal, fmt.Errorf("engine: %s", msg), "run statement"), true
	}
}

func (s settings) memoryError(msg, text string) error {
	cause := fmt.Errorf("engine: %s", msg)
	if strings.Contains(text, "max_temp_directory_size") {
		return fault.Wrap(fault.Invalid, cause,
			"temporary disk limit of this query (%s) reached; ask for a shorter time range or fewer groups", byteText(s.tempBytes))
	}
	return fault.Wrap(fault.Invalid, cause,
		"memory limit of this query (%s) reached; ask for a shorter time range, fewer columns or fewer groups", byteText(s.memoryBytes))
}

// legacyText splits "Binder Error: message", the form of errors that are made before errors_as_json is consulted.
var legacyText = regexp.MustCompile(`(?s)^([A-Za-z ]+?) Error: (.*)$`)

func parseEngineText(msg string) engineText {
	var t engineText
	if strings.HasPrefix(msg, "{") && json.Unmarshal([]byte(msg), &t) == nil && t.Type != "" {
		return t
	}
	if m := legacyText.FindStringSubmatch(msg); m != nil {
		text, _, _ := strings.Cut(m[2], "\n\nLINE ")
		return engineText{Type: m[1], Message: text}
	}
	return engineText{Message: msg}
}

// scrub replaces paths below this instance's directories, whole, by their last element.
func (s settings) scrub(text string) string {
	for _, dir := range append([]string{s.tempDir}, s.dataDirs...) {
		dir = strings.TrimRight(dir, "/")
		for {
			at := strings.Index(text, dir)
			if at < 0 {
				break
			}
			end := at + len(dir)
			for end < len(text) && !strings.ContainsRune(" \t\n\"',;)]", rune(text[end])) {
				end++
			}
			text = text[:at] + "<" + filepath.Base(text[at:end]) + ">" + text[end:]
		}
	}
	return text
}

// byteText writes n with a binary unit and at most one digit of fraction, such as "512 MiB".
func byteText(n int64) string {
	const unit = 1024
	v, names := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for v >= unit && len(names) > 1 {
		v, names = v/unit, names[1:]
	}
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) + " " + names[0]
}
