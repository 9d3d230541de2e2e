package config

import (
	"fmt"
	"log/slog"
)

// redacted stands for a secret wherever it would be printed.
const redacted = "(redacted)"

// Secret is a text that does not print: not by fmt, slog, JSON or TOML. The zero value is an unset one.
type Secret struct{ text string }

// NewSecret returns a secret of that text.
func NewSecret(text string) Secret { return Secret{text} }

// Reveal returns the text, for the one place that needs it.
func (s Secret) Reveal() string { return s.text }

// IsSet reports whether the text is not empty.
func (s Secret) IsSet() bool { return s.text != "" }

// String implements fmt.Stringer.
func (s Secret) String() string { return redacted }

// Format implements fmt.Formatter, for verbs that look into values.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText implements encoding.TextMarshaler.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
