package feedback

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// orphanAge is how old audio must be before it counts as an orphan. Uploads take less.
	orphanAge = time.Hour
	// sweepBatch is how many keys are looked up at once.
	sweepBatch = 500
	// maxSweepErrors is after how many errors a sweep ends: the store is out of order then.
	maxSweepErrors = 10
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
		s.cfg.Logger.WarnContext(ctx, "segment was stuck and is queued again", "segment_id", seg.ID)
		s.broker.notify(seg.SessionID)
	}
	var batch []string
	var failed []error
	for key, err := range s.cfg.Audio.Keys(ctx, now.Add(-orphanAge)) {
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		if batch = append(batch, key); len(batch) == sweepBatch {
			failed = append(failed, s.deleteOrphans(ctx, batch)...)
			if len(failed) >= maxSweepErrors {
				return errors.Join(failed...)
			}
			batch = batch[:0]
		}
	}
	return errors.Join(append(failed, s.deleteOrphans(ctx, batch)...)...)
}

// deleteOrphans goes on after an error, so that a file that cannot be deleted keeps no other.
func (s *Service) deleteOrphans(ctx context.Context, keys []string) (failed []error) {
	used, err := s.store.AudioInUse(ctx, keys)
	if err != nil {
		return []error{err}
	}
	for _, key := range keys {
		if slices.Contains(used, key) {
			continue
		}
		if err := s.cfg.Audio.Delete(ctx, key); err != nil {
			failed = append(failed, fmt.Errorf("audio %s: %w", key, err))
			if len(failed) == maxSweepErrors {
				break
			}
			continue
		}
		s.cfg.Logger.InfoContext(ctx, "deleted audio without a segment", "audio_key", key)
	}
	return failed
}
