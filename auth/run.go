package auth

import (
	"context"
	"sync"
	"time"
)

const (
	// flushInterval is how long times of last use are collected before they are
	// written together.
	flushInterval = 5 * time.Second

	// maxPendingUses bounds the memory of collected times; what does not fit is
	// collected again when the session is next used.
	maxPendingUses = 10_000

	// cleanupBatch is how many sessions one statement deletes, so that clean-up
	// never holds locks for long.
	cleanupBatch = 1000

	// housekeepingTimeout bounds one write of housekeeping: a store that hangs
	// must not end it for good.
	housekeepingTimeout = time.Minute

	// finalFlushTimeout bounds the last write after Run's context has ended.
	finalFlushTimeout = 5 * time.Second
)

// uses collects times of last use, so that no request waits for their writing.
type uses struct {
	mu      sync.Mutex
	pending map[TokenHash]time.Time
}

func (u *uses) init() { u.pending = map[TokenHash]time.Time{} }

func (u *uses) add(hash TokenHash, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	last, known := u.pending[hash]
	if at.After(last) && (known || len(u.pending) < maxPendingUses) {
		u.pending[hash] = at
	}
}

func (u *uses) take() []LastUse {
	u.mu.Lock()
	defer u.mu.Unlock()
	list := make([]LastUse, 0, len(u.pending))
	for hash, at := range u.pending {
		list = append(list, LastUse{hash, at})
	}
	clear(u.pending)
	return list
}

// Run stores the times of last use as they come in and deletes expired sessions
// every [Config.CleanupInterval], until ctx ends; then it writes what is left
// and returns nil. Faults of the store are logged and tried again. A program
// with several nodes may run it on each.
//
// Without Run, everything else works, except that no time of last use is
// stored (so that an IdleTimeout ends also sessions in use) and that expired
// sessions stay in the store, where they sign nobody in.
func (s *Service) Run(ctx context.Context) error {
	flush := time.NewTicker(flushInterval)
	defer flush.Stop()
	cleanup := time.NewTicker(s.cleanupInterval)
	defer cleanup.Stop()
	s.cleanupAndLog(ctx)
	for {
		select {
		case <-flush.C:
			s.flush(ctx)
		case <-cleanup.C:
			s.cleanupAndLog(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalFlushTimeout)
			defer cancel()
			s.flush(last)
			return nil
		}
	}
}

func (s *Service) flush(ctx context.Context) {
	list := s.uses.take()
	if len(list) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, housekeepingTimeout)
	defer cancel()
	if err := s.store.MarkUsed(ctx, list); err != nil {
		for _, use := range list {
			s.uses.add(use.TokenHash, use.At)
		}
		s.log.WarnContext(ctx, "cannot store when sessions were last used", "error", err)
	}
}

func (s *Service) cleanupAndLog(ctx context.Context) {
	n, err := s.Cleanup(ctx)
	if err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "cannot delete expired sessions", "error", err)
	}
	if n > 0 {
		s.log.InfoContext(ctx, "deleted expired sessions", "count", n)
	}
}

// Cleanup deletes all sessions that are expired or idle for too long, in
// batches, and returns how many it deleted. Run calls it; so may a scheduled
// task.
func (s *Service) Cleanup(ctx context.Context) (int, error) {
	now, idleSince := s.now(), time.Time{}
	if s.idleTimeout > 0 {
		idleSince = now.Add(-s.idleTimeout)
	}
	total := 0
	for {
		n, err := s.deleteExpired(ctx, now, idleSince)
		total += n
		if err != nil {
			return total, storeError("delete expired sessions", err)
		}
		if n < cleanupBatch {
			return total, nil
		}
	}
}

func (s *Service) deleteExpired(ctx context.Context, now, idleSince time.Time) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, housekeepingTimeout)
	defer cancel()
	return s.store.DeleteExpired(ctx, now, idleSince, cleanupBatch)
}
