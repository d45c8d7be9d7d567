package feedback

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// EraseTeacher deletes everything of a teacher: students, records, sessions, lessons, segments,
// defaults, words and usage at once, the audio by tasks. A request that was in progress may store
// something afterwards. That is deleted by a [TaskEraseTeacher], whose Turn is an hour later; the
// caller must refuse new requests of the teacher from then on, and delete each [TaskTranscribe] and
// [TaskLearn] of the teacher, ended or not, with what its queue keeps about it.
func (s *Service) EraseTeacher(ctx context.Context, teacher uuid.UUID) error {
	return s.store.EraseTeacher(ctx, teacher, s.now().Add(time.Hour))
}

// expireBatch is how many recordings are listed at once that are to expire.
const expireBatch = 500

// ExpireAudio deletes the audio of segments that were transcribed longer than age ago, by tasks.
// Their text stays. Call it every hour or so, for example as a periodic job. Concurrent calls do no
// harm.
func (s *Service) ExpireAudio(ctx context.Context, age time.Duration) error {
	now := s.now()
	for {
		expired, err := s.store.ExpireAudio(ctx, now.Add(-age), expireBatch, now)
		for _, seg := range expired {
			s.broker.notify(seg.SessionID)
		}
		if err != nil || len(expired) == 0 {
			return err
		}
	}
}
