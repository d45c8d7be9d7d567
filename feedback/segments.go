package feedback

import (
	"context"
	"errors"
	"io"

	"github.com/google/uuid"
)

// AddSegment receives a recording and queues it for transcription. The audio
// is read once, in constant memory; when AddSegment returns, the audio, its
// row and its task are durable. The same recording again is the existing
// segment (created false), so that a phone may repeat an upload whose answer
// it missed. Errors: [ErrNotFound], [ErrInvalid], [ErrAudioEmpty],
// [ErrAudioTooLarge], [ErrAudioType], [ErrUpload], [ErrStorage],
// [ErrSequenceTaken].
func (s *Service) AddSegment(ctx context.Context, teacher, lesson uuid.UUID, audio io.Reader, in SegmentInput) (_ Segment, created bool, err error) {
	if err := in.validate(); err != nil {
		return Segment{}, false, err
	}
	u, err := s.ReceiveAudio(ctx, teacher, lesson, audio)
	if err != nil {
		return Segment{}, false, err
	}
	defer u.Discard()
	return u.Submit(ctx, in)
}

// Upload is audio that was received for a lesson and is not yet a segment. It
// serves callers that learn of the [SegmentInput] after the audio; AddSegment
// is simpler.
type Upload struct {
	service                  *Service
	teacher, lesson, session uuid.UUID
	staged                   StagedAudio
}

// ReceiveAudio reads a recording to its end, provided that the lesson is the
// teacher's. The caller discards the upload when it is done with it, submitted
// or not. Errors: see [Service.AddSegment].
func (s *Service) ReceiveAudio(ctx context.Context, teacher, lesson uuid.UUID, audio io.Reader) (*Upload, error) {
	session, err := s.store.SessionOf(ctx, teacher, lesson)
	if err != nil {
		return nil, err
	}
	staged, err := s.cfg.Audio.Stage(ctx, audio, s.cfg.MaxAudioBytes)
	if err != nil {
		return nil, err
	}
	return &Upload{service: s, teacher: teacher, lesson: lesson, session: session, staged: staged}, nil
}

// Discard removes the received audio unless it became a segment. It may be
// called more than once.
func (u *Upload) Discard() {
	if err := u.staged.Discard(); err != nil {
		u.service.cfg.Logger.Error("discard upload", "error", err)
	}
}

// Submit makes the received audio a segment. Errors: see [Service.AddSegment].
func (u *Upload) Submit(ctx context.Context, in SegmentInput) (_ Segment, created bool, err error) {
	if err := in.validate(); err != nil {
		return Segment{}, false, err
	}
	s, info := u.service, u.staged.Info()
	id, err := newID()
	if err != nil {
		return Segment{}, false, err
	}
	kept, err := u.staged.Keep(ctx, in.PCM)
	if err != nil {
		return Segment{}, false, err
	}
	seg := Segment{
		ID: id, LessonID: u.lesson, SessionID: u.session, TeacherID: u.teacher,
		Sequence: orDefault(in.Sequence, 0), State: SegmentQueued,
		AudioKey: kept.Key, ContentType: kept.ContentType, Duration: in.Duration,
		Size: info.Size, SHA256: info.SHA256, CreatedAt: s.now(),
	}
	stored, created, err := s.store.InsertSegment(ctx, seg, in.Sequence == nil)
	if err != nil || !created {
		s.dropUnused(ctx, kept.Key, err)
	}
	if err != nil {
		return Segment{}, false, err
	}
	if created {
		s.events.publish(stored.SessionID, segmentEvent(stored))
	}
	return stored, created, nil
}

// dropUnused deletes audio that surely has no row. After any other error the
// row may yet have been committed: then the sweep decides.
func (s *Service) dropUnused(ctx context.Context, key string, err error) {
	var e *Error
	if err != nil && (!errors.As(err, &e) || e.Kind == ErrUnavailable) {
		return
	}
	if err := s.cfg.Audio.Delete(context.WithoutCancel(ctx), key); err != nil {
		s.cfg.Logger.ErrorContext(ctx, "delete unused audio", "error", err)
	}
}

// Segment reads one segment. Errors: [ErrNotFound].
func (s *Service) Segment(ctx context.Context, teacher, id uuid.UUID) (Segment, error) {
	return s.store.Segment(ctx, teacher, id)
}

// RetrySegment queues a failed segment again. Errors: [ErrNotFound], [ErrNotFailed].
func (s *Service) RetrySegment(ctx context.Context, teacher, id uuid.UUID) (Segment, error) {
	seg, err := s.store.RetrySegment(ctx, teacher, id, s.now())
	if err != nil {
		return Segment{}, err
	}
	s.events.publish(seg.SessionID, segmentEvent(seg))
	return seg, nil
}

// OpenAudio opens a segment's recording; the caller closes it. Errors:
// [ErrNotFound], [ErrStorage].
func (s *Service) OpenAudio(ctx context.Context, teacher, id uuid.UUID) (Segment, AudioFile, error) {
	seg, err := s.store.Segment(ctx, teacher, id)
	if err != nil {
		return Segment{}, nil, err
	}
	f, err := s.cfg.Audio.Open(ctx, seg.AudioKey)
	return seg, f, err
}
