package ingest

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/wal"
)

// volumeFile stands beside the segments of the log and names the writer epochs that were drawn on this volume: "epoch N" a line, and
// "drawing above N" while one is being drawn. It tells an epoch whose rows were all flushed, so that the log has nothing of it, from one
// whose log is on a volume that was lost.
const volumeFile = "epochs"

// volume is what the file says.
type volume struct {
	epochs []int64 // ascending
	// drawing says that processes began to draw epochs here, greater than above, and may not have come to note them.
	drawing bool
	above   int64
}

// beginDraw returns v while an epoch is being drawn. A draw that was not noted before stays open.
func (v volume) beginDraw() volume {
	if v.drawing {
		return v
	}
	v.drawing = true
	if n := len(v.epochs); n > 0 {
		v.above = v.epochs[n-1]
	}
	return v
}

// endDraw returns v with the epoch that was drawn. An older draw that was not noted stays open until somebody has looked for it.
func (v volume) endDraw(epoch int64) volume {
	v.epochs = append(slices.Clone(v.epochs), epoch)
	return v
}

// has reports whether rows of an epoch that the catalog lists for this node would lie here.
func (v volume) has(epoch int64) bool {
	return slices.Contains(v.epochs, epoch) || v.drawing && epoch > v.above
}

func readVolume(files wal.FS, dir string) (v volume, err error) {
	f, err := files.Open(path.Join(dir, volumeFile))
	if errors.Is(err, fs.ErrNotExist) {
		return v, nil
	}
	if err != nil {
		return v, fmt.Errorf("read the epochs of the volume: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Size()
	if err != nil {
		return v, fmt.Errorf("read the epochs of the volume: %w", err)
	}
	text := make([]byte, size)
	if _, err := f.ReadAt(text, 0); err != nil {
		return v, fmt.Errorf("read the epochs of the volume: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		number, isEpoch := strings.CutPrefix(line, "epoch ")
		number, isDraw := strings.CutPrefix(number, "drawing above ")
		n, parseErr := strconv.ParseInt(number, 10, 64)
		switch {
		case isDraw && parseErr == nil:
			v.drawing, v.above = true, n
		case isEpoch && parseErr == nil:
			v.epochs = append(v.epochs, n)
		default:
			return v, fault.New(fault.Corrupt, "%s: %.64q is no line of it", path.Join(dir, volumeFile), line)
		}
	}
	slices.Sort(v.epochs)
	return v, nil
}

// write replaces the file durably.
func (v volume) write(files wal.FS, dir string) (err error) {
	var text strings.Builder
	for _, e := range v.epochs {
		fmt.Fprintf(&text, "epoch %d\n", e)
	}
	if v.drawing {
		fmt.Fprintf(&text, "drawing above %d\n", v.above)
	}
	name := path.Join(dir, volumeFile)
	next := name + ".new"
	defer func() {
		if err != nil {
			err = fmt.Errorf("note the epochs of the volume: %w", err)
		}
	}()
	if err := files.MkdirAll(dir); err != nil {
		return err
	}
	if err := files.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := files.Create(next)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(text.String()), 0)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := files.Rename(next, name); err != nil {
		return err
	}
	return files.SyncDir(dir)
}
