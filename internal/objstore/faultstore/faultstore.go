package faultstore

import (
	"context"
	"io"
	"math/rand/v2"
	"path"
	"sync"
	"time"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/objstore"
)

// Op is a kind of operation.
type Op string

// The operations.
const (
	Get      Op = "get"
	GetRange Op = "get_range"
	Stat     Op = "stat"
	Put      Op = "put" // PutFile too
	Delete   Op = "delete"
	List     Op = "list"
)

// ErrInjected is the usual error of a rule, of the kind that an unreachable store has.
var ErrInjected = fault.New(fault.Unavailable, "object store: injected fault")

// Rule is one fault. All conditions that are set must hold; an operation meets the first rule that fires.
type Rule struct {
	Op   Op     // "" means any
	Keys string // pattern of path.Match for the key or, for List, the prefix; "" means any
	// Nth fires on the nth operation that the other conditions hold for, counted from 1; 0 on every one.
	Nth int
	// Probability fires on that share of operations (0 to 1), drawn from the store's seed; 0 means always.
	Probability float64
	// After lets the operation take effect before it fails: the answer is lost, as when a connection breaks. Reads ignore it.
	After bool
	// Delay comes before the operation. It ends early with the operation's context.
	Delay time.Duration
	// Err is what the operation returns; nil makes a rule that only delays.
	Err error
}

// Store injects the faults of its rules into another store. It is safe for concurrent use.
type Store struct {
	next objstore.Store
	mu   struct {
		sync.Mutex
		rules  []*counted
		random *rand.Rand
	}
}

type counted struct {
	Rule
	seen int // operations that the conditions held for
}

// New wraps next. The seed decides what rules with a probability do.
func New(next objstore.Store, seed uint64, rules ...Rule) *Store {
	s := &Store{next: next}
	s.mu.random = rand.New(rand.NewPCG(seed, 0))
	s.Set(rules...)
	return s
}

// Set replaces all rules and their counts; without arguments the store is whole again.
func (s *Store) Set(rules ...Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.rules = nil
	for _, r := range rules {
		s.mu.rules = append(s.mu.rules, &counted{Rule: r})
	}
}

// fires returns the rule that the operation meets, or the empty rule.
func (s *Store) fires(op Op, key string) Rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.mu.rules {
		if r.Op != "" && r.Op != op || !r.matches(key) {
			continue
		}
		r.seen++
		if r.Nth != 0 && r.seen != r.Nth {
			continue
		}
		if r.Probability != 0 && s.mu.random.Float64() >= r.Probability {
			continue
		}
		return r.Rule
	}
	return Rule{}
}

func (r *counted) matches(key string) bool {
	if r.Keys == "" {
		return true
	}
	ok, err := path.Match(r.Keys, key)
	return ok && err == nil
}

// run does what the operation's rule says around effect. It reports errors of the rule before those of effect.
func (s *Store) run(ctx context.Context, op Op, key string, effect func() error) error {
	rule := s.fires(op, key)
	if rule.Delay > 0 {
		timer := time.NewTimer(rule.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if rule.Err != nil && !rule.After {
		return rule.Err
	}
	if err := effect(); err != nil {
		return err
	}
	return rule.Err
}

// Get implements objstore.Reader.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	return s.read(ctx, Get, key, func() (io.ReadCloser, error) { return s.next.Get(ctx, key) })
}

// GetRange implements objstore.Reader.
func (s *Store) GetRange(ctx context.Context, key string, off, length int64) (io.ReadCloser, error) {
	return s.read(ctx, GetRange, key, func() (io.ReadCloser, error) { return s.next.GetRange(ctx, key, off, length) })
}

// read runs an operation that opens something; what was opened before a late error is closed.
func (s *Store) read(ctx context.Context, op Op, key string, open func() (io.ReadCloser, error)) (io.ReadCloser, error) {
	var body io.ReadCloser
	err := s.run(ctx, op, key, func() (err error) {
		body, err = open()
		return err
	})
	if err != nil && body != nil {
		_ = body.Close() // the injected error is the one to see
		body = nil
	}
	return body, err
}

// Stat implements objstore.Reader.
func (s *Store) Stat(ctx context.Context, key string) (info objstore.Info, err error) {
	err = s.run(ctx, Stat, key, func() (err error) {
		info, err = s.next.Stat(ctx, key)
		return err
	})
	return info, err
}

// LocalPath implements objstore.Reader: false, since reading in place would go around the faults.
func (s *Store) LocalPath(string) (string, bool) { return "", false }

// Put implements objstore.Store.
func (s *Store) Put(ctx context.Context, key string, r io.ReaderAt, size int64) error {
	return s.run(ctx, Put, key, func() error { return s.next.Put(ctx, key, r, size) })
}

// PutFile implements objstore.Store.
func (s *Store) PutFile(ctx context.Context, key, file string) error {
	return s.run(ctx, Put, key, func() error { return s.next.PutFile(ctx, key, file) })
}

// Delete implements objstore.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	return s.run(ctx, Delete, key, func() error { return s.next.Delete(ctx, key) })
}

// List implements objstore.Store.
func (s *Store) List(ctx context.Context, prefix string, visit func(objstore.Entry) error) error {
	return s.run(ctx, List, prefix, func() error { return s.next.List(ctx, prefix, visit) })
}

// Close implements objstore.Store.
func (s *Store) Close() error { return s.next.Close() }
