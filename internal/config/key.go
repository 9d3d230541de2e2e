package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/millstream/millstream/internal/bytesize"
	"github.com/millstream/millstream/internal/limits"
)

// envPrefix begins the name of every variable that is read.
const envPrefix = "MS_"

// Origin says where a value came from.
type Origin = limits.Origin

// The origins, each above the one before it.
const (
	FromDefault = limits.FromDefault
	FromFile    = limits.FromFile
	FromEnv     = limits.FromEnv
)

// key is one setting: how it is called and described, and how it is read and shown.
type key struct {
	path     string // "node.data_dir"
	doc      string
	kind     string // of the value, for the reference: "size", "seconds", …
	fallback string // the default as the reference shows it
	origin   Origin
	secret   bool // from the environment or a file that it names only, and shown redacted

	set  func(v any) error     // v is a string, int64, float64, bool or []string
	read func(text string) any // turns a variable's text into what set takes
	show func() string         // the value in TOML
}

// env returns the name of the key's variable.
func (k *key) env() string { return envPrefix + strings.ToUpper(strings.ReplaceAll(k.path, ".", "_")) }

// declarer collects keys. Its methods are called by the sections, once a key, with a pointer to the field.
type declarer struct {
	prefix   string
	sections []section
	keys     []*key
}

type section struct{ name, doc string }

func (d *declarer) section(name, doc string, declare func(*declarer)) {
	d.sections = append(d.sections, section{name, doc})
	d.prefix = name
	declare(d)
}

// add completes k with the section's name and the field's default.
func (d *declarer) add(name, doc string, k key) {
	k.path = strings.TrimPrefix(d.prefix+"."+name, ".")
	k.doc = doc
	k.origin = FromDefault
	k.fallback = k.show()
	d.keys = append(d.keys, &k)
}

// text declares a string. An empty default may be filled in later from the machine or another key; doc says from which.
func (d *declarer) text(field *string, name, byDefault, doc string) {
	*field = byDefault
	d.add(name, doc, key{
		kind: "text",
		set: func(v any) error {
			s, ok := v.(string)
			if !ok {
				return errors.New("a text in quotes is expected")
			}
			*field = s
			return nil
		},
		read: func(text string) any { return text },
		show: func() string { return quote(*field) },
	})
}

// count declares an integer of at least 0.
func count[T int | int64](d *declarer, field *T, name string, byDefault T, doc string) {
	*field = byDefault
	d.add(name, doc, key{
		kind: "number",
		set: func(v any) error {
			n, ok := v.(int64)
			if !ok || n < 0 || int64(T(n)) != n {
				return errors.New("a whole number of at least 0 is expected")
			}
			*field = T(n)
			return nil
		},
		read: readInt,
		show: func() string { return strconv.FormatInt(int64(*field), 10) },
	})
}

// flag declares a boolean.
func (d *declarer) flag(field *bool, name string, byDefault bool, doc string) {
	*field = byDefault
	d.add(name, doc, key{
		kind: "true or false",
		set: func(v any) error {
			b, ok := v.(bool)
			if !ok {
				return errors.New("true or false is expected")
			}
			*field = b
			return nil
		},
		read: func(text string) any {
			switch text {
			case "true":
				return true
			case "false":
				return false
			}
			return text
		},
		show: func() string { return strconv.FormatBool(*field) },
	})
}

// size declares a number of bytes: "32MiB", "1GB", or a plain number.
func (d *declarer) size(field *int64, name string, byDefault int64, doc string) {
	*field = byDefault
	d.add(name, doc, key{
		kind: "size",
		set: func(v any) (err error) {
			switch v := v.(type) {
			case int64:
				if v < 0 {
					return errors.New("a size is not negative")
				}
				*field = v
				return nil
			case string:
				*field, err = bytesize.Parse(v)
				return err
			default:
				return bytesize.ErrSyntax
			}
		},
		read: func(text string) any { return text },
		show: func() string { return bytesize.Literal(*field) },
	})
}

// ticks declares a duration that is written as a whole number of unit; the key's name says which, as in "…_secs".
func (d *declarer) ticks(field *time.Duration, name string, unit, byDefault time.Duration, doc string) {
	*field = byDefault
	kind := map[time.Duration]string{time.Second: "seconds", time.Millisecond: "milliseconds", day: "days"}[unit]
	d.add(name, doc, key{
		kind: kind,
		set: func(v any) error {
			n, ok := v.(int64)
			if !ok || n < 0 || n > int64(math.MaxInt64/unit) {
				return fmt.Errorf("a whole number of %s is expected", kind)
			}
			*field = time.Duration(n) * unit
			return nil
		},
		read: readInt,
		show: func() string { return strconv.FormatInt(int64(*field/unit), 10) },
	})
}

// limit declares a limit of orgs: the table of limits knows all about it.
func (d *declarer) limit(all *limits.Limits, l limits.Definition) {
	d.add(l.Name, l.Doc, key{
		kind: string(l.Kind),
		set:  func(v any) error { return l.Set(all, v) },
		read: l.Read,
		show: func() string { return l.Show(*all) },
	})
}

// secret declares a secret. It has no place in a file.
func (d *declarer) secret(field *Secret, name, doc string) {
	d.add(name, doc, key{
		kind:   "secret",
		secret: true,
		set: func(v any) error {
			s, ok := v.(string)
			if !ok || s == "" {
				return errors.New("the secret is empty")
			}
			*field = NewSecret(s)
			return nil
		},
		read: func(text string) any { return text },
		show: func() string {
			if !field.IsSet() {
				return `""`
			}
			return quote(field.String())
		},
	})
}

// choice declares one of some words.
func choice[T ~string](d *declarer, field *T, name string, all []T, doc string) {
	*field = all[0] // the default stands first
	d.add(name, doc, key{
		kind: words(all),
		set: func(v any) error {
			s, ok := v.(string)
			if !ok || !slices.Contains(all, T(s)) {
				return fmt.Errorf("%v is not known; one of %s is expected", showAny(v), words(all))
			}
			*field = T(s)
			return nil
		},
		read: func(text string) any { return text },
		show: func() string { return quote(string(*field)) },
	})
}

// choices declares a list of some words.
func choices[T ~string](d *declarer, field *[]T, name string, all []T, doc string) {
	*field = all[:1:1]
	d.add(name, doc, key{
		kind: "list of " + words(all),
		set: func(v any) error {
			list, ok := v.([]string)
			if !ok {
				return errors.New(`a list is expected, as in ["a", "b"]`)
			}
			values := make([]T, 0, len(list))
			for _, s := range list {
				if !slices.Contains(all, T(s)) {
					return fmt.Errorf("%q is not known; %s are", s, words(all))
				}
				values = append(values, T(s))
			}
			*field = values
			return nil
		},
		read: readList,
		show: func() string {
			shown := make([]string, len(*field))
			for i, v := range *field {
				shown[i] = quote(string(v))
			}
			return "[" + strings.Join(shown, ", ") + "]"
		},
	})
}

// readInt leaves what is no number to set, which names what is expected.
func readInt(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return text
}

// readList takes TOML's writing or plain values with commas between them.
func readList(text string) any {
	if !strings.HasPrefix(text, "[") {
		parts := strings.Split(text, ",")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		return parts
	}
	var doc struct{ List []string }
	if toml.Unmarshal([]byte("list = "+text), &doc) != nil {
		return text
	}
	return doc.List
}

func words[T ~string](all []T) string {
	shown := make([]string, len(all))
	for i, w := range all {
		shown[i] = string(w)
	}
	return strings.Join(shown, ", ")
}

// quote writes s as a TOML basic string. JSON's escapes are TOML's, but for one character that JSON leaves as it is.
func quote(s string) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil {
		return strconv.Quote(s) // cannot be: a string always encodes
	}
	return strings.ReplaceAll(strings.TrimSuffix(out.String(), "\n"), "\x7f", `\u007f`)
}

// showAny shows what was found instead of what is expected.
func showAny(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	return fmt.Sprint(v)
}
