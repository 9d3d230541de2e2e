package promstore

import (
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/wire/nativehist"
)

// accumulate turns the samples of a series of deltas, settled already, into a counter that begins with the first sample loaded: rates and
// increases of it are those of the deltas. Staleness markers stay where they are.
func (s *series) accumulate() error {
	var parser nativehist.Parser
	var sum float64
	var total *floatTotal
	for i := range s.pieces {
		p := &s.pieces[i]
		values := make([]float64, len(p.values))
		var histograms [][]byte
		if p.histograms != nil {
			histograms = make([][]byte, len(p.histograms))
		}
		for row, v := range p.values {
			text := at(p.histograms, row)
			switch {
			case text != nil:
				if total == nil {
					total = &floatTotal{}
				}
				if err := total.add(&parser, text); err != nil {
					return err
				}
				histograms[row] = nativehist.AppendFloat(nil, total.sum)
			case value.IsStaleNaN(v):
				values[row] = v
			default:
				sum += v
				values[row] = sum
			}
		}
		p.values, p.histograms = values, histograms
	}
	return nil
}

// floatTotal adds native histograms up.
type floatTotal struct{ sum *histogram.FloatHistogram }

// add adds a stored histogram. Zero buckets and resolutions that differ are brought together by Prometheus' rules.
func (t *floatTotal) add(p *nativehist.Parser, text []byte) error {
	h, f, err := p.Parse(text)
	if err != nil {
		return err
	}
	if h != nil {
		f = h.ToFloat(nil)
	}
	if t.sum == nil {
		t.sum = f.Copy()
		return nil
	}
	t.sum, _, _, err = t.sum.Add(f)
	if err != nil {
		return fault.Wrap(fault.Corrupt, err, "add histograms up")
	}
	return nil
}
