package rpc

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/fresh"
)

var freshStream = grpc.StreamDesc{StreamName: "Snapshot", ServerStreams: true}

// Snapshot asks the node for its fresh rows, and for the writer epochs that the answer covers. The caller owns the records.
func (p *Peer) Snapshot(ctx context.Context, q fresh.Request) (result fresh.Result, holding []catalog.WriterKey, err error) {
	if err := p.reach(ctx); err != nil {
		return result, nil, err
	}
	in, err := newFrame(q, nil)
	if err != nil {
		return result, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := p.open(ctx, &freshStream, methodFresh, in)
	if err != nil {
		return result, nil, err
	}
	defer func() {
		if err != nil {
			result.Release()
		}
	}()
	for first := true; ; first = false {
		f := new(frame)
		if err := stream.RecvMsg(f); err != nil {
			return result, nil, fmt.Errorf("read fresh rows of %s: %w", p.Address(), err)
		}
		var head freshHead
		if err := f.into(&head); err != nil {
			return result, nil, err
		}
		switch {
		case head.Problem != nil:
			return result, nil, head.Problem.err()
		case head.End:
			return result, holding, nil
		case first:
			holding, result.Warnings = head.Holding, head.Warnings
		default:
			if err := p.addChunk(&result, head, f.body); err != nil {
				return result, nil, err
			}
		}
	}
}

// addChunk puts a chunk into the snapshot that it belongs to: chunks of one snapshot follow each other.
func (p *Peer) addChunk(result *fresh.Result, head freshHead, block []byte) error {
	_, record, err := p.codec.Decode(block)
	if err != nil {
		return err
	}
	if record == nil {
		return fault.New(fault.Corrupt, "fresh rows of another node: a chunk without a record")
	}
	n := len(result.Snapshots)
	if n == 0 || result.Snapshots[n-1].Writer != head.Writer || result.Snapshots[n-1].Dataset != head.Dataset {
		result.Snapshots = append(result.Snapshots, fresh.Snapshot{Writer: head.Writer, Dataset: head.Dataset})
		n++
	}
	s := &result.Snapshots[n-1]
	s.Chunks = append(s.Chunks, fresh.Chunk{Seq: head.Seq, Record: record})
	return nil
}
