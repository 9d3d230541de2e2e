package app

import (
	"time"

	"github.com/millstream/millstream/internal/config"
	"github.com/millstream/millstream/internal/fault"
)

// Ready implements httpapi.Status.
func (n *node) Ready() error {
	if !n.serving.Load() {
		return fault.New(fault.Unavailable, "this node is draining")
	}
	if n.ingest != nil {
		if err := n.ingest.Ready(); err != nil {
			return err
		}
	}
	if n.members.Current() == nil {
		return fault.New(fault.Unavailable, "this node has not seen the cluster yet")
	}
	return nil
}

// Report implements httpapi.Status.
func (n *node) Report() map[string]any {
	report := map[string]any{"node": n.config.Node.ID, "roles": n.config.Node.Roles, "version": version}
	if n.ingest != nil {
		if p := n.ingest.Progress(); n.ingest.Ready() != nil && p.TotalBytes > 0 {
			report["replay"] = map[string]int64{"done_bytes": p.DoneBytes, "total_bytes": p.TotalBytes}
		}
		rows, _ := n.ingest.Unflushed()
		report["unflushed_rows"] = rows
	}
	if m, ok := n.joined(); ok {
		if v := m.Current(); v != nil {
			report["epoch"] = v.Epoch
		}
		if age := m.Stale(); age > 0 {
			report["stale_secs"] = int64(age / time.Second)
		}
	}
	if n.config.WAL.Sync == config.SyncNone {
		report["warnings"] = []string{"wal.sync is none: acknowledged rows do not survive a power cut"}
	}
	return report
}
