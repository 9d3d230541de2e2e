package overrides_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pause lies between two edits, far below the time that a content has to rest.
const pause = 15 * time.Millisecond

// TestAFileThatNeverRests edits without a rest, until one of the edits is in force while the next are being made. Rate and burst are equal
// in every edit, so what is half written would show.
func TestAFileThatNeverRests(t *testing.T) {
	t.Parallel()
	inPlace := func(t *testing.T, path, text string) {
		t.Helper()
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
		require.NoError(t, err)
		for _, piece := range []string{text[:len(text)/2], text[len(text)/2:]} {
			_, err = file.WriteString(piece)
			require.NoError(t, err)
			time.Sleep(pause / 5)
		}
		require.NoError(t, file.Close())
	}
	for name, edit := range map[string]func(t *testing.T, path, text string){
		"in place": inPlace,
		"by rename": func(t *testing.T, path, text string) {
			t.Helper()
			put(t, path+".new", text)
			require.NoError(t, os.Rename(path+".new", path))
		},
		"by rename, without an end of the last line": func(t *testing.T, path, text string) {
			t.Helper()
			put(t, path+".new", strings.TrimSuffix(text, "\n"))
			require.NoError(t, os.Rename(path+".new", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "in place" && runtime.GOOS != "linux" {
				t.Skip("only Linux tells whether somebody has a file open for writing")
			}
			path := filepath.Join(t.TempDir(), "o.yaml")
			put(t, path, rate(1))
			f := follow(t, path, time.Hour)
			for applied, n := 0, 2; applied < 3; n++ {
				require.Less(t, n, 2000, "the file is edited all the time and %d edits were used", applied)
				before := f.source.Generation()
				edit(t, path, rate(n))
				time.Sleep(pause)
				l := f.source.For("a")
				require.Equal(t, l.IngestionRate, l.IngestionBurst, "the file was never so")
				if f.source.Generation() != before {
					applied++
				}
			}
		})
	}
}

// TestAFileThatGrowsIsWaitedFor appends entries by opening and closing the file for each, for longer than a change is waited for: nothing
// of it is used before the last. An attempt in which the machine let an edit wait, so that the file came to rest, says nothing.
func TestAFileThatGrowsIsWaitedFor(t *testing.T) {
	t.Parallel()
	for !growUndisturbed(t) {
		t.Log("an edit was held up, again")
	}
}

// growUndisturbed reports whether no two edits were so far apart that the file rested between them.
func growUndisturbed(t *testing.T) bool {
	t.Helper()
	const (
		entries = 60
		rest    = 90 * time.Millisecond // less than what counts as one, and as long as two edits may take
	)
	path := filepath.Join(t.TempDir(), "o.yaml")
	put(t, path, rate(1))
	f := follow(t, path, time.Hour)
	text := "overrides:\n"
	for n := range entries {
		before := time.Now()
		if n == 0 {
			put(t, path, text)
		} else {
			file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			require.NoError(t, err)
			_, err = fmt.Fprintf(file, "  o%d:\n    ingestion_rate_mb: 1\n", n)
			require.NoError(t, err)
			require.NoError(t, file.Close())
		}
		time.Sleep(pause)
		inForce := f.source.For("a").IngestionRate
		if time.Since(before) > rest/2 {
			return false
		}
		require.Equal(t, int64(mib), inForce, "with %d entries", n)
	}
	require.Eventually(t, func() bool { return len(f.source.Overridden()) == entries-1 }, 20*time.Second, time.Millisecond)
	return true
}

// TestAFileThatIsHeldOpen edits through one open file that is never closed, for longer than a change is waited for. Nobody can tell then
// whether what is written is whole before it rests; when it does, it is used.
func TestAFileThatIsHeldOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "o.yaml")
	put(t, path, rate(1000))
	f := follow(t, path, time.Hour)
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	for n := range 80 {
		_, err := file.WriteAt([]byte(rate(2000+n)), 0)
		require.NoError(t, err)
		time.Sleep(pause)
	}
	f.waitRate(t, 2079)
}
