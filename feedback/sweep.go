package feedback

import (
	"context"
	"slices"
	"time"
)

const (
	// orphanAge is how old audio must be before it counts as an orphan. Uploads take less.
	orphanAge = time.Hour
	// sweepBatch is how many keys are looked up at once.
	sweepBatch = 500
)

// Sweep queues segments again that have been transcribing for longer than any worker may, and
// deletes expired idempotency keys and audio that no segment refers to. Call it every hour or so,
// for example as a periodic job. Concurrent calls do no harm.
func (s *Service) Sweep(ctx context.Context) error {
	now := s.now()
	if err := s.store.DeleteIdempotencyKeys(ctx, now.Add(-keyLifetime)); err != nil {
		return err
	}
	stuck, err := s.store.RequeueStuck(ctx, now.Add(-s.cfg.StuckThreshold), now)
	if err != nil {
		return err
	}
	for _, seg := range stuck {
		s.cfg.Logger.WarnContext(ctx, "segment was stuck and is queued again", "segment", seg.ID)
		s.broker.notify(seg.SessionID)
	}
	var batch []string
	for key, err := range s.cfg.Audio.Keys(ctx, now.Add(-orphanAge)) {
		if err != nil {
			return err
		}
		if batch = append(batch, key); len(batch) == sweepBatch {
			if err := s.deleteOrphans(ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return s.deleteOrphans(ctx, batch)
}

func (s *Service) deleteOrphans(ctx context.Context, keys []string) error {
	used, err := s.store.AudioInUse(ctx, keys)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if slices.Contains(used, key) {
			continue
		}
		if err := s.cfg.Audio.Delete(ctx, key); err != nil {
			return err
		}
		s.cfg.Logger.InfoContext(ctx, "deleted audio without a segment", "key", key)
	}
	return nil
}
