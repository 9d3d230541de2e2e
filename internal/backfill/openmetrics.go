package backfill

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/tsdb/fileutil"

	"github.com/millstream/millstream/internal/fault"
)

// OpenMetrics returns the file of OpenMetrics text at path, which must end with # EOF. Samples without a time are refused.
func OpenMetrics(path string) (_ Part, err error) {
	f := &textFile{path: path}
	err = f.mapped(func(text []byte) error {
		if !bytes.HasSuffix(bytes.TrimRight(text, "\n"), []byte("# EOF")) {
			return fault.New(fault.Invalid, "%s does not end with # EOF, so it is no whole OpenMetrics file", path)
		}
		sum := sha256.Sum256(text)
		f.id = hex.EncodeToString(sum[:])
		for line := range bytes.Lines(text) {
			if len(line) > 1 && line[0] != '#' {
				f.samples++
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// textFile is an OpenMetrics file. It is a Part.
type textFile struct {
	path    string
	id      string
	samples int64
}

// ID implements Part.
func (f *textFile) ID() string { return f.id }

// Name implements Part.
func (f *textFile) Name() string { return filepath.Base(f.path) }

// Samples implements Part.
func (f *textFile) Samples() int64 { return f.samples }

// mapped calls use with the file's bytes.
func (f *textFile) mapped(use func([]byte) error) (err error) {
	m, err := fileutil.OpenMmapFile(f.path)
	if err != nil {
		return fault.Wrap(fault.Invalid, err, "open %s: %s", f.path, err)
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	return use(m.Bytes())
}

// Each implements Part.
func (f *textFile) Each(ctx context.Context, skip int64, visit func(*Sample) error, refused func(string)) error {
	return f.mapped(func(text []byte) error {
		p := textparse.NewOpenMetricsParser(text, labels.NewSymbolTable())
		r := textReader{parser: p, skip: skip, visit: visit, refused: refused}
		for n := 0; ; n++ {
			const look = 1000
			if n%look == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			entry, err := p.Next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fault.Wrap(fault.Invalid, err, "%s, after %d samples: %s", f.path, r.seen, err)
			}
			if err := r.entry(entry); err != nil {
				return err
			}
		}
	})
}

// textReader reads the entries of a file.
type textReader struct {
	parser  textparse.Parser
	skip    int64
	seen    int64 // samples
	visit   func(*Sample) error
	refused func(string)

	family string // that Family is of
	sample Sample
}

func (r *textReader) entry(e textparse.Entry) error {
	switch e {
	case textparse.EntryType:
		name, typ := r.parser.Type()
		r.of(name).Type = typ
	case textparse.EntryHelp:
		name, help := r.parser.Help()
		r.of(name).Help = string(help)
	case textparse.EntryUnit:
		name, unit := r.parser.Unit()
		r.of(name).Unit = string(unit)
	case textparse.EntrySeries:
		r.seen++
		if r.seen <= r.skip {
			return nil
		}
		return r.series()
	default:
	}
	return nil
}

// of returns the family that a line of description is about.
func (r *textReader) of(name []byte) *Family {
	if string(name) != r.family {
		r.family, r.sample.Family = string(name), Family{}
	}
	return &r.sample.Family
}

func (r *textReader) series() error {
	s := &r.sample
	text, at, value := r.parser.Series()
	if at == nil {
		r.refused(fmt.Sprintf("series %.200s has no time", text))
		return nil
	}
	r.parser.Labels(&s.Labels)
	s.Millis, s.Value, s.Start = *at, value, r.parser.StartTimestamp()
	s.Exemplars = s.Exemplars[:0]
	for {
		var e exemplar.Exemplar
		if !r.parser.Exemplar(&e) {
			break
		}
		s.Exemplars = append(s.Exemplars, e)
	}
	if !strings.HasPrefix(s.Labels.Get(model.MetricNameLabel), r.family) {
		s.Family = Family{} // described nowhere
	}
	return r.visit(s)
}
