package promstore

import (
	"encoding/json"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/millstream/millstream/internal/fault"
)

// pair is one label.
type pair struct{ name, value string }

// appendPairs appends the labels of a stored label set (signal.LabelSet.AppendJSON). Texts without an escape are parts of text.
func appendPairs(dst []pair, text string) ([]pair, error) {
	rest, ok := strings.CutPrefix(text, "{")
	for ok && rest != "}" {
		var p pair
		if p.name, rest, ok = cutText(rest); !ok {
			break
		}
		if rest, ok = strings.CutPrefix(rest, ":"); !ok {
			break
		}
		if p.value, rest, ok = cutText(rest); !ok {
			break
		}
		dst = append(dst, p)
		if rest != "}" {
			rest, ok = strings.CutPrefix(rest, ",")
		}
	}
	if !ok {
		return dst, fault.New(fault.Corrupt, "stored label set %.64q", text)
	}
	return dst, nil
}

// cutText takes a JSON string off the start of s.
func cutText(s string) (text, rest string, ok bool) {
	if s == "" || s[0] != '"' {
		return "", "", false
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return s[1:i], s[i+1:], true
		case '\\':
			return cutEscaped(s)
		}
	}
	return "", "", false
}

func cutEscaped(s string) (text, rest string, ok bool) {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			err := json.Unmarshal([]byte(s[:i+1]), &text)
			return text, s[i+1:], err == nil
		}
	}
	return "", "", false
}

// labelsOf returns a series' labels with its name.
func labelsOf(b *labels.ScratchBuilder, metric string, pairs []pair) labels.Labels {
	b.Reset()
	if metric != "" {
		b.Add(model.MetricNameLabel, metric)
	}
	for _, p := range pairs {
		b.Add(p.name, p.value)
	}
	b.Sort()
	return b.Labels()
}
