package rpc_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/promapi"
	"github.com/millstream/millstream/internal/router"
	"github.com/millstream/millstream/internal/rpc"
)

// Read sends a part of as many bytes a row, all of them the length of the request's body.
func (n *fakeNode) Read(ctx context.Context, q promapi.ReadRequest, send func([]byte) error) error {
	if n.err != nil {
		return n.err
	}
	for _, row := range n.rows {
		part := make([]byte, len(row))
		for i := range part {
			part[i] = byte(len(q.Body))
		}
		if err := send(part); err != nil {
			return err
		}
	}
	if n.hang != nil {
		<-ctx.Done()
		close(n.closed)
		return ctx.Err()
	}
	return n.fail
}

// A remote read comes over in its parts; an error before, after and in the middle of them is told apart.
func TestRemoteReadsStream(t *testing.T) {
	t.Parallel()
	q := promapi.ReadRequest{Org: "t1", Database: "d", Streamed: true, Body: []byte("abc")}
	read := func(t *testing.T, n *fakeNode) (parts [][]byte, err error) {
		t.Helper()
		p, _ := serve(t, n, rpc.Options{})
		err = p.ReadPrometheus(t.Context(), q, func(part []byte) error {
			parts = append(parts, part)
			return nil
		})
		return parts, err
	}
	two := [][]int64{{1}, {1, 2}}
	want := [][]byte{{3}, {3, 3}}
	parts, err := read(t, &fakeNode{rows: two})
	require.NoError(t, err)
	require.Equal(t, want, parts)

	parts, err = read(t, &fakeNode{rows: two, fail: fault.New(fault.TooLarge, "too many samples")})
	require.Equal(t, want, parts)
	require.Equal(t, fault.TooLarge, fault.KindOf(err))
	require.NotErrorIs(t, err, router.ErrUnreachable)

	_, err = read(t, &fakeNode{err: fault.New(fault.Invalid, "no such matcher")})
	require.ErrorContains(t, err, "no such matcher")
	require.NotErrorIs(t, err, router.ErrUnreachable)

	_, err = read(t, &fakeNode{closing: true})
	require.ErrorIs(t, err, router.ErrUnreachable, "another node may be asked")
}

// A reader that has enough ends the work on the other node.
func TestAReaderThatLeavesEndsTheRead(t *testing.T) {
	t.Parallel()
	n := &fakeNode{rows: [][]int64{{1}}, hang: make(chan struct{}), closed: make(chan struct{})}
	p, _ := serve(t, n, rpc.Options{})
	enough := errors.New("enough")
	err := p.ReadPrometheus(t.Context(), promapi.ReadRequest{Org: "t1"}, func([]byte) error { return enough })
	require.ErrorIs(t, err, enough)
	<-n.closed
}
