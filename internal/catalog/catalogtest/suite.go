package catalogtest

import (
	"testing"

	"github.com/millstream/millstream/internal/catalog"
)

// Run runs the suite. open returns an empty catalog that is closed when the test ends; each case opens one.
func Run(t *testing.T, open func(t *testing.T) catalog.Catalog) {
	t.Helper()
	for _, group := range []struct {
		name  string
		cases []testCase
	}{
		{"Writers", writerCases()},
		{"Databases", databaseCases()},
		{"Streams", streamCases()},
		{"Columns", columnCases()},
		{"Commit", commitCases()},
		{"Segments", segmentCases()},
		{"Snapshot", snapshotCases()},
		{"Access", accessCases()},
		{"Races", raceCases()},
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(newFixture(t, open(t)))
				})
			}
		})
	}
}

type testCase struct {
	name string
	run  func(f *fixture)
}
