package rpc

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/millstream/millstream/internal/router"
	"github.com/millstream/millstream/internal/wire/arrowipc"
)

// Options are the waits of a client.
type Options struct {
	// DialTimeout bounds the wait for a connection. Default 1 s.
	DialTimeout time.Duration
	// ForwardTimeout bounds the wait for the answer to a batch (router.forward_timeout_ms). Default 5 s.
	ForwardTimeout time.Duration
	// PingTimeout bounds the question whether a node that has not answered answers again. Default 300 ms.
	PingTimeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.DialTimeout <= 0 {
		o.DialTimeout = time.Second
	}
	if o.ForwardTimeout <= 0 {
		o.ForwardTimeout = 5 * time.Second
	}
	if o.PingTimeout <= 0 {
		o.PingTimeout = 300 * time.Millisecond
	}
	return o
}

// Peers holds a connection to each address that was asked for. It is safe for concurrent use; Close ends all connections.
type Peers struct {
	opts  Options
	token string
	codec arrowipc.Codec

	mu    sync.Mutex
	peers map[string]*Peer
}

// NewPeers returns a Peers without connections.
func NewPeers(clusterToken string, opts Options) *Peers {
	return &Peers{opts: opts.withDefaults(), token: clusterToken, peers: make(map[string]*Peer)}
}

// scheme keeps gRPC from resolving addresses by itself.
const scheme = "passthrough:///"

// Peer returns the node at an address (host:port). It connects when it is used first.
func (p *Peers) Peer(address string) (*Peer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if peer := p.peers[address]; peer != nil {
		return peer, nil
	}
	conn, err := grpc.NewClient(scheme+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithPerRPCCredentials(bearer{p.token}),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{}),
			grpc.MaxCallRecvMsgSize(MaxMessageBytes), grpc.MaxCallSendMsgSize(MaxMessageBytes)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: p.opts.DialTimeout,
		}),
		grpc.WithInitialWindowSize(windowBytes), grpc.WithInitialConnWindowSize(windowBytes),
		grpc.WithReadBufferSize(bufferBytes), grpc.WithWriteBufferSize(bufferBytes), grpc.WithDisableServiceConfig(), grpc.WithDisableRetry())
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	peer := &Peer{conn: conn, opts: p.opts, codec: &p.codec}
	p.peers[address] = peer
	return peer, nil
}

// Close ends all connections. Until then one that is not used rests by itself (gRPC's idle timeout), as those to nodes that are gone do.
func (p *Peers) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for a, peer := range p.peers {
		_ = peer.conn.Close() // calls under way fail, which is what they are told
		delete(p.peers, a)
	}
	return nil
}

// Peer is another node.
type Peer struct {
	conn  *grpc.ClientConn
	opts  Options
	codec *arrowipc.Codec

	mu      sync.Mutex
	suspect bool // its last answer did not come in time
}

// Address returns host:port of the node.
func (p *Peer) Address() string { return strings.TrimPrefix(p.conn.Target(), scheme) }

// reach makes sure that the node is connected and, after it has left a call unanswered, that it answers. An error means that nothing
// was sent; it is router.ErrUnreachable.
func (p *Peer) reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.opts.DialTimeout)
	defer cancel()
	for {
		s := p.conn.GetState()
		switch s {
		case connectivity.Ready:
			return p.clearSuspicion(ctx)
		case connectivity.TransientFailure, connectivity.Shutdown:
			// It connects again by itself, at most a second after the node is back.
			return fmt.Errorf("connect to %s: %w", p.Address(), router.ErrUnreachable)
		default:
			p.conn.Connect()
		}
		if !p.conn.WaitForStateChange(ctx, s) {
			return fmt.Errorf("connect to %s: %w", p.Address(), router.ErrUnreachable)
		}
	}
}

// clearSuspicion pings a suspect.
func (p *Peer) clearSuspicion(ctx context.Context) error {
	p.mu.Lock()
	suspect := p.suspect
	p.mu.Unlock()
	if !suspect {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.opts.PingTimeout)
	defer cancel()
	in, err := newFrame(struct{}{}, nil)
	if err != nil {
		return err
	}
	if err := p.conn.Invoke(ctx, methodPing, in, new(frame)); err != nil {
		return fmt.Errorf("ping %s: %w: %w", p.Address(), router.ErrUnreachable, err)
	}
	p.suspected(false)
	return nil
}

func (p *Peer) suspected(yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.suspect = yes
}
