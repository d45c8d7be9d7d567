package feedback

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// orphanAge is how old audio must be before it counts as an orphan. Uploads take less, and the
	// clock of the storage differs by less.
	orphanAge = 24 * time.Hour
	// sweepBatch is how many keys are looked up at once.
	sweepBatch = 500
	// maxSweepErrors is after how many errors a sweep ends: the store is out of order then.
	maxSweepErrors = 10
	// fewOrphans is how many orphans a batch without anything else may have. More are hardly those
	// of uploads that failed: the database is not that of the audio store.
	fewOrphans = 10
)

// Sweep queues segments again that have been transcribing for longer than any worker may, and
// deletes expired idempotency keys and audio that no segment refers to. It fails, and deletes no
// more audio, if no segment refers to any, since the database may be another one. Call it every
// hour or so, for example as a periodic job. Concurrent calls do no harm.
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
	return s.sweepAudio(ctx, now.Add(-orphanAge))
}

// sweepAudio goes on after audio that cannot be deleted, so that it keeps no other.
func (s *Service) sweepAudio(ctx context.Context, before time.Time) error {
	var batch []string
	var failed []error
	for key, err := range s.cfg.Audio.Keys(ctx, before) {
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		if batch = append(batch, key); len(batch) < sweepBatch {
			continue
		}
		if failed, err = s.deleteOrphans(ctx, batch, failed); err != nil || len(failed) >= maxSweepErrors {
			return errors.Join(append(failed, err)...)
		}
		batch = batch[:0]
	}
	failed, err := s.deleteOrphans(ctx, batch, failed)
	return errors.Join(append(failed, err)...)
}

// deleteOrphans adds what could not be deleted to failed, and returns why nothing was.
func (s *Service) deleteOrphans(ctx context.Context, keys []string, failed []error) ([]error, error) {
	used, err := s.store.AudioInUse(ctx, keys)
	if err != nil {
		return failed, err
	}
	orphans := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return slices.Contains(used, key) })
	if n := len(orphans); n > fewOrphans && len(used) == 0 {
		return failed, fmt.Errorf("feedback: sweep: the database knows none of %d recordings, so they are not "+
			"deleted: is it the database of this audio store?", n)
	}
	for _, key := range orphans {
		if err := s.cfg.Audio.Delete(ctx, key); err != nil {
			failed = append(failed, fmt.Errorf("audio %s: %w", key, err))
			if len(failed) == maxSweepErrors {
				break
			}
			continue
		}
		s.cfg.Logger.InfoContext(ctx, "deleted audio without a segment", "audio_key", key)
	}
	return failed, nil
}
