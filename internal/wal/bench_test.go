package wal_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/millstream/millstream/internal/wal"
)

// BenchmarkEnqueueWait measures an acknowledged record of 4 KiB on the real file system.
func BenchmarkEnqueueWait(b *testing.B) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			l, err := wal.Open(wal.Options{Dir: b.TempDir() + "/wal", Node: "n1", Epoch: 1}, wal.Deps{})
			if err != nil {
				b.Fatal(err)
			}
			payload := make([]byte, 4<<10)
			var next atomic.Int64
			b.SetBytes(int64(len(payload)))
			b.SetParallelism(max(1, writers/2)) // times GOMAXPROCS of two cores
			if writers == 1 {
				for i := 0; b.Loop(); i++ {
					appendOne(b, l, 0, uint64(i+1), payload)
				}
			} else {
				b.RunParallel(func(pb *testing.PB) {
					dataset := next.Add(1)
					for seq := uint64(1); pb.Next(); seq++ {
						appendOne(b, l, dataset, seq, payload)
					}
				})
			}
			b.StopTimer()
			st := l.Stats()
			b.ReportMetric(float64(st.Records)/float64(max(1, st.Groups)), "records/group")
			if err := l.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func appendOne(b *testing.B, l *wal.Log, dataset int64, seq uint64, payload []byte) {
	b.Helper()
	key := wal.Key{Dataset: dataset, Node: "n1", Epoch: 1}
	lsn, err := l.Enqueue(wal.Record{Key: key, Seq: seq, Payload: payload})
	if err == nil {
		err = l.Wait(context.Background(), lsn)
	}
	if err != nil {
		b.Error(err)
	}
}
