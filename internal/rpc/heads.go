package rpc

import (
	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/ingest"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wire/arrowipc"
)

// batchHead is the head of a batch; its body is the record's block.
type batchHead struct {
	Org      tenant.ID     `json:"org"`
	Database string        `json:"database"`
	Signal   signal.Signal `json:"signal"`
	Name     string        `json:"name"`
	Origin   uint64        `json:"origin"`
	Number   uint64        `json:"number"`
	Ordered  bool          `json:"ordered,omitempty"`
	Backfill bool          `json:"backfill,omitempty"`
}

func newBatchHead(b *signal.Batch) batchHead {
	return batchHead{
		Org: b.Stream.Org, Database: b.Stream.Database, Signal: b.Stream.Signal, Name: b.Stream.Name,
		Origin: b.ID.Origin, Number: b.ID.Number, Ordered: b.Ordered, Backfill: b.Backfill,
	}
}

// batch returns what was sent. The caller releases it.
func (h batchHead) batch(c *arrowipc.Codec, block []byte) (*signal.Batch, error) {
	record, err := ingest.DecodeRecord(c, block)
	if err != nil {
		return nil, err
	}
	return &signal.Batch{
		Stream: signal.Stream{Org: h.Org, Database: h.Database, Signal: h.Signal, Name: h.Name}, Record: record,
		ID: signal.BatchID{Origin: h.Origin, Number: h.Number}, Block: block, Ordered: h.Ordered,
		Backfill: h.Backfill,
	}, nil
}

// answerHead is the head of each part of an answer. The body is a block: a record, or the schema alone.
type answerHead struct {
	Meta    answer.Meta `json:"meta"` // as of this part
	Problem *problem    `json:"problem,omitempty"`
	End     bool        `json:"end,omitempty"` // nothing follows
}

// freshHead is the head of each part of a fresh read: first what the node holds, then chunks, then the end.
type freshHead struct {
	Holding  []catalog.WriterKey `json:"holding,omitempty"`
	Warnings []string            `json:"warnings,omitempty"`
	Problem  *problem            `json:"problem,omitempty"`
	End      bool                `json:"end,omitempty"`

	Writer  catalog.WriterKey `json:"writer"`
	Dataset catalog.DatasetID `json:"dataset,omitempty"`
	Seq     uint64            `json:"seq,omitempty"`
}
