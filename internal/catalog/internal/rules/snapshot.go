package rules

import "github.com/millstream/millstream/internal/catalog"

// NewSnapshot returns an empty snapshot for the query; its maps are not nil.
func NewSnapshot(q catalog.SnapshotQuery) catalog.Snapshot {
	return catalog.Snapshot{
		Columns:   make(map[catalog.StreamID][]catalog.Column, len(q.Streams)),
		Committed: make(map[catalog.DatasetID]map[catalog.WriterKey]uint64, len(q.Datasets)),
		Versions:  make(map[catalog.DatasetID]int64, len(q.Datasets)),
	}
}

// AddCommitted adds a committed sequence to a snapshot.
func AddCommitted(s *catalog.Snapshot, dataset catalog.DatasetID, writer catalog.WriterKey, sequence uint64) {
	if s.Committed[dataset] == nil {
		s.Committed[dataset] = make(map[catalog.WriterKey]uint64)
	}
	s.Committed[dataset][writer] = sequence
}
