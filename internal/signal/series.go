package signal

// Series is what the rows of one series of a metrics batch have in common: MetricColumn and LabelsColumn.
type Series struct{ Metric, Labels string }

// SeriesNumbers numbers the series of rows from 0, in order of first sight. Its zero value is ready. It keeps the texts that it is given.
type SeriesNumbers struct {
	numbers map[Series]int32
	series  []Series
	after   []int32 // by number: the series that followed it last
	last    int32
}

// Of returns the number of a row's series. Senders repeat their series in one order, so the next one mostly is known without a look-up.
func (s *SeriesNumbers) Of(x Series) int32 {
	if len(s.series) > 0 {
		if next := s.after[s.last]; s.series[next] == x {
			s.last = next
			return next
		}
	}
	n, ok := s.numbers[x]
	if !ok {
		if s.numbers == nil {
			s.numbers = make(map[Series]int32)
		}
		n = int32(len(s.series))
		s.numbers[x] = n
		s.series, s.after = append(s.series, x), append(s.after, n)
	}
	s.after[s.last] = n
	s.last = n
	return n
}

// Len returns how many series there are.
func (s *SeriesNumbers) Len() int { return len(s.series) }

// Series returns the series of a number.
func (s *SeriesNumbers) Series(n int32) Series { return s.series[n] }
