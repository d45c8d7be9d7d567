package feedback

import (
	"context"
	"slices"
)

// sweepBatch is how many names are looked up at once.
const sweepBatch = 500

// Sweep deletes audio that no segment names and that is old enough not to be
// an upload in progress, and queues segments again that have been transcribing
// for longer than any worker may.
func (s *Service) Sweep(ctx context.Context) error {
	now := s.now()
	stuck, err := s.store.RequeueStuck(ctx, now.Add(-s.cfg.StuckAfter), now)
	if err != nil {
		return err
	}
	for _, seg := range stuck {
		s.cfg.Logger.WarnContext(ctx, "segment was stuck, queued again", "segment", seg.ID)
		s.events.publish(seg.SessionID, segmentEvent(seg))
	}
	var batch []string
	for key, err := range s.cfg.Audio.Keys(ctx, now.Add(-s.cfg.OrphanAge)) {
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
	if len(keys) == 0 {
		return nil
	}
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
		s.cfg.Logger.InfoContext(ctx, "deleted audio that no segment names", "key", key)
	}
	return nil
}
