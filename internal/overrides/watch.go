package overrides

import (
	"log/slog"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// watch tells of changes near a file. What is watched are folders, not the file: it may be replaced by a rename, or be a link that is
// exchanged. So an event is a reason to look, no more.
type watch struct {
	path    string
	logger  *slog.Logger
	watcher *fsnotify.Watcher // nil: the system has no events; the file is polled then
	poked   chan struct{}
	done    chan struct{}
}

func newWatch(path string, logger *slog.Logger) *watch {
	w := &watch{path: path, logger: logger, poked: make(chan struct{}, 1), done: make(chan struct{})}
	var err error
	if w.watcher, err = fsnotify.NewWatcher(); err != nil {
		logger.Warn("no events of the file system, the overrides file is looked at in intervals only", "error", err)
		w.watcher = nil
		close(w.done)
		return w
	}
	w.renew()
	w.poke() // a change between the first reading and now
	go w.forward()
	return w
}

// events receives after changes; several may be told as one.
func (w *watch) events() <-chan struct{} { return w.poked }

func (w *watch) poke() {
	select {
	case w.poked <- struct{}{}:
	default:
	}
}

// forward ends when the watcher is closed.
func (w *watch) forward() {
	defer close(w.done)
	for {
		select {
		case e, ok := <-w.watcher.Events:
			if !ok {
				return
			}
			if e.Has(fsnotify.Create) || e.Has(fsnotify.Rename) || e.Has(fsnotify.Remove) {
				w.renew()
			}
			w.poke()
		case err, ok := <-w.watcher.Errors:
			if !ok {
				return
			}
			w.logger.Debug("watching the overrides file", "error", err)
			w.poke() // events may have been lost
		}
	}
}

// renew watches the folder of the file, of what each of its links leads to, and forgets folders that are gone.
func (w *watch) renew() {
	if w.watcher == nil {
		return
	}
	folders := map[string]bool{filepath.Dir(w.path): true}
	if resolved, err := filepath.EvalSymlinks(w.path); err == nil {
		folders[filepath.Dir(resolved)] = true
	}
	for _, old := range w.watcher.WatchList() {
		if !folders[old] {
			_ = w.watcher.Remove(old) // it may be gone by itself
		}
	}
	for folder := range folders {
		if err := w.watcher.Add(folder); err != nil {
			w.logger.Debug("watching the overrides file", "folder", folder, "error", err)
		}
	}
}

func (w *watch) close() {
	if w.watcher != nil {
		_ = w.watcher.Close() // nothing was written
	}
	<-w.done
}
