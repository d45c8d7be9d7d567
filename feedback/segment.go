package feedback

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// SegmentState is the state of a [Segment].
type SegmentState string

// The states of a segment: queued → transcribing → transcribed or failed, and from both back to
// queued by a retry. A segment that has a text keeps it until there is another one, and does not
// fail: it is transcribed again, with the error. A segment goes back from transcribing to queued if
// there will be another attempt, and from failed to transcribing if the queue runs its task again.
const (
	SegmentQueued       SegmentState = "queued"
	SegmentTranscribing SegmentState = "transcribing"
	SegmentTranscribed  SegmentState = "transcribed"
	SegmentFailed       SegmentState = "failed"
)

// Segment is one piece of a lesson's recording.
type Segment struct {
	ID        uuid.UUID
	LessonID  uuid.UUID
	SessionID uuid.UUID
	TeacherID uuid.UUID
	Sequence  int // 0 to 9999, unique in the lesson

	State SegmentState
	Text  string // what was said, as the transcriber returned it
	// EditedText is what the teacher has put in the place of Text, or nil. It stays when the
	// recording is transcribed again.
	EditedText *string
	// Version counts the edits of EditedText, beginning with 1.
	Version int64

	Details string // about Text, as JSON: see Sentences, WarningCode; "" if there are none
	// RetryLanguage is the language that the last retry asked for, or "" for the teacher's.
	RetryLanguage string
	Error         string // why the last attempt failed; can be shown to the teacher
	Attempts      int    // attempts that counted
	// ErrorCode is Error for programs: one of [FailureCodes], or "".
	ErrorCode string
	// Suspicions counts how often the transcriber was lost while it had this recording.
	Suspicions int
	// RecognizerTask is the provider's name of the task for this recording, or "".
	RecognizerTask string

	AudioKey    string        // of the [AudioStore]
	Duration    time.Duration // to the millisecond; 0 if unknown
	Size        int64         // bytes, as sent
	SHA256      string        // of the bytes as sent, in hex
	ContentType string        // detected from the content

	CreatedAt     time.Time
	TranscribedAt time.Time // when Text was there; zero until then
	// AudioDeletedAt is when the audio was deleted because of its age, or zero. See
	// [Service.ExpireAudio].
	AudioDeletedAt time.Time

	Revision int64 // of the session, when this segment last changed

	// Progress is set by methods of [Service] that read sessions, segments and events, if the
	// segment is queued or transcribing.
	Progress *Progress
}

// The values of [Segment.WarningCode].
const (
	WarningCutOff   = "recording_cut_off" // the recording is shorter than its header says
	WarningNoSpeech = "no_speech"         // the text is empty, and the recording is not short
	WarningDoubtful = "doubtful"          // some of the text may not have been said
)

// said returns what was said: EditedText, or else Text.
func (s Segment) said() string { return orDefault(s.EditedText, s.Text) }

// WarningCode tells programs what is doubtful about the text. It is "" for nothing. An edited text
// is not doubtful.
func (s Segment) WarningCode() string {
	if s.TranscribedAt.IsZero() {
		return ""
	}
	d := s.details()
	switch {
	case d.Header > 0:
		return WarningCutOff
	case s.EditedText != nil:
		return ""
	case s.Text == "" && s.Duration > shortAudio:
		return WarningNoSpeech
	case slices.ContainsFunc(d.Sentences, func(m [5]int64) bool { return m[4] != 0 }):
		return WarningDoubtful
	}
	return ""
}

// Warning describes what is doubtful about the text, for the teacher, or returns "".
func (s Segment) Warning() string {
	switch s.WarningCode() {
	case WarningCutOff:
		header := time.Duration(s.details().Header) * time.Millisecond
		return fmt.Sprintf("the recording lasts %v, but was to last %v: its end is missing",
			s.Duration.Round(time.Second), header.Round(time.Second))
	case WarningNoSpeech:
		return "no speech was recognised"
	case WarningDoubtful:
		return "parts of the text may not have been said; generated texts leave them out"
	}
	return ""
}

// shortAudio is the longest recording in which it is not strange that nobody speaks.
const shortAudio = 2 * time.Second

// MaxSequence is the greatest sequence number of a segment.
const MaxSequence = 9999

// SegmentInput describes an uploaded recording.
type SegmentInput struct {
	Sequence *int          // 0 to [MaxSequence]; defaults to one more than the greatest
	Duration time.Duration // according to the recorder, at most a day; 0 if unknown
	PCM      *PCM          // if set, content of no known type is taken as raw samples
}

func (in SegmentInput) validate() error {
	var v validator
	if in.Sequence != nil {
		v.between("sequence", *in.Sequence, 0, MaxSequence)
	}
	v.between("duration_ms", int(in.Duration.Milliseconds()), 0, 24*60*60*1000)
	if in.PCM != nil {
		v.between("sample_rate", in.PCM.SampleRate, 4000, 384_000)
		v.between("channels", in.PCM.Channels, 1, 8)
	}
	return v.err()
}

// SegmentCounts counts segments by state.
type SegmentCounts struct {
	Total, Queued, Transcribing, Transcribed, Failed int
}

func (c *SegmentCounts) add(d SegmentCounts) {
	c.Total += d.Total
	c.Queued += d.Queued
	c.Transcribing += d.Transcribing
	c.Transcribed += d.Transcribed
	c.Failed += d.Failed
}

// AddSegment receives a recording and queues it for transcription. The audio is read once, in
// constant memory; when AddSegment returns, the audio, its row and its task are durable. If the
// same recording is there already, AddSegment returns that segment and created false, so that a
// client can repeat an upload whose answer it has missed. Errors: [ErrNotFound], [ErrInvalid],
// [ErrLimit], [ErrStorageFull], [ErrAudioEmpty], [ErrAudioTooLarge], [ErrAudioType], [ErrUpload],
// [ErrStorage], [ErrSequenceTaken], [ErrSessionCompleted].
func (s *Service) AddSegment(
	ctx context.Context, teacher, lesson uuid.UUID, audio io.Reader, in SegmentInput,
) (_ Segment, created bool, err error) {
	if err := in.validate(); err != nil { // Submit does it after the upload
		return Segment{}, false, err
	}
	u, err := s.StartUpload(ctx, teacher, lesson)
	if err != nil {
		return Segment{}, false, err
	}
	defer u.Discard(ctx)
	if err := u.Receive(ctx, audio); err != nil {
		return Segment{}, false, err
	}
	return u.Submit(ctx, in)
}

// Upload is audio for a lesson that is not yet a segment. It is for callers that receive the
// [SegmentInput] after the audio; otherwise [Service.AddSegment] is simpler. It is not safe for
// concurrent use.
type Upload struct {
	service                  *Service
	teacher, lesson, session uuid.UUID
	staged                   StagedAudio // nil until received
}

// StartUpload checks whether a recording for a lesson of the teacher would be accepted, before any
// of it is read. Then follow [Upload.Receive] and [Upload.Submit]; the caller must call
// [Upload.Discard] in any case. Errors: [ErrNotFound], [ErrLimit], [ErrStorageFull].
func (s *Service) StartUpload(ctx context.Context, teacher, lesson uuid.UUID) (*Upload, error) {
	session, err := s.store.LessonSession(ctx, teacher, lesson)
	if err != nil {
		return nil, err
	}
	if err := s.checkUsage(ctx, teacher, 1); err != nil {
		return nil, err
	}
	if err := checkSpace(ctx, s.cfg.Audio); err != nil {
		return nil, err
	}
	return &Upload{service: s, teacher: teacher, lesson: lesson, session: session}, nil
}

// Received reports whether Receive has succeeded.
func (u *Upload) Received() bool { return u.staged != nil }

// Receive reads the recording to its end. It must be called once. Errors: [ErrStorageFull],
// [ErrAudioEmpty], [ErrAudioTooLarge], [ErrUpload], [ErrStorage].
func (u *Upload) Receive(ctx context.Context, audio io.Reader) (err error) {
	u.staged, err = u.service.cfg.Audio.Stage(ctx, audio, u.service.cfg.MaxAudioBytes)
	return err
}

// Discard deletes the received audio unless it has become a segment. It may be called repeatedly.
func (u *Upload) Discard(ctx context.Context) {
	if u.staged == nil {
		return
	}
	if err := u.staged.Discard(); err != nil {
		u.service.cfg.Logger.ErrorContext(ctx, "discarding an upload failed", "error", err)
	}
}

// Submit keeps the received audio and creates the segment. Errors: see [Service.AddSegment].
func (u *Upload) Submit(ctx context.Context, in SegmentInput) (_ Segment, created bool, err error) {
	if err := in.validate(); err != nil {
		return Segment{}, false, err
	}
	s, info := u.service, u.staged.Info()
	kept, err := u.staged.Keep(ctx, in.PCM)
	if err != nil {
		return Segment{}, false, err
	}
	seg := Segment{
		ID: uuid.Must(uuid.NewV7()), LessonID: u.lesson, SessionID: u.session, TeacherID: u.teacher,
		Sequence: orDefault(in.Sequence, 0), State: SegmentQueued,
		Version: 1, AudioKey: kept.Key, ContentType: kept.ContentType, Duration: in.Duration,
		Size: info.Size, SHA256: info.SHA256, CreatedAt: s.now(),
	}
	stored, created, err := s.store.InsertSegment(ctx, seg, in.Sequence == nil)
	if err != nil || !created {
		s.deleteUnused(ctx, kept.Key, err)
	}
	if err != nil {
		return Segment{}, false, err
	}
	if created {
		s.broker.notify(stored.SessionID)
	}
	return stored, created, nil
}

// deleteUnused deletes audio that has no row. After an error that leaves open whether the row was
// committed, this is left to the sweep.
func (s *Service) deleteUnused(ctx context.Context, key string, err error) {
	var e *Error
	if err != nil && (!errors.As(err, &e) || e.Kind == ErrUnavailable) {
		return
	}
	if err := s.cfg.Audio.Delete(context.WithoutCancel(ctx), key); err != nil {
		s.cfg.Logger.ErrorContext(ctx, "deleting unused audio failed", "error", err)
	}
}

// Segments lists the segments of a lesson by sequence. A page ends early if it has more than
// [MaxPageText] bytes of text. Errors: [ErrNotFound], [ErrInvalid].
func (s *Service) Segments(ctx context.Context, teacher, lesson uuid.UUID, p Page) (List[Segment], error) {
	limit, c, err := p.parse("segments", 1)
	if err != nil {
		return List[Segment]{}, err
	}
	after := -1
	if c != nil {
		after, err = strconv.Atoi(c.Key[0])
		if err != nil || after < 0 || after > MaxSequence || c.ID != lesson {
			return List[Segment]{}, Invalid("cursor", "is not a next_cursor of this list")
		}
	}
	items, more, err := s.store.Segments(ctx, teacher, lesson, after, limit)
	if err != nil {
		return List[Segment]{}, err
	}
	list := listOf(items, more, func(g Segment) cursor {
		return cursor{List: "segments", Key: []string{strconv.Itoa(g.Sequence)}, ID: lesson}
	})
	return list, s.withProgress(ctx, pointers(items)...)
}

// Segment returns one segment. Errors: [ErrNotFound].
func (s *Service) Segment(ctx context.Context, teacher, id uuid.UUID) (Segment, error) {
	seg, err := s.store.Segment(ctx, teacher, id)
	if err != nil {
		return Segment{}, err
	}
	return seg, s.withProgress(ctx, &seg)
}

// maxTranscriptLength limits a text that the teacher writes for a recording, in characters: those
// of more than an hour of speech.
const maxTranscriptLength = 100_000

// SegmentEdit changes the text of a segment.
type SegmentEdit struct {
	Text *string // at most 100 000 characters; nil for that of the transcriber again
	// IfVersion, if not nil, makes the edit fail with [ErrStale] unless the segment has one of
	// these versions.
	IfVersion []int64
}

// EditSegment replaces what was said in a recording, in whatever state the segment is. The Progress
// of the result is nil. Errors: [ErrInvalid], [ErrNotFound], [ErrStale].
func (s *Service) EditSegment(ctx context.Context, teacher, id uuid.UUID, e SegmentEdit) (Segment, error) {
	var v validator
	if v.text("text", orDefault(e.Text, ""), 0, maxTranscriptLength); v.err() != nil {
		return Segment{}, v.err()
	}
	if err := s.checkText(ctx, teacher); err != nil {
		return Segment{}, err
	}
	seg, err := s.store.EditSegment(ctx, teacher, id, e, s.now())
	if err != nil {
		return Segment{}, err
	}
	s.broker.notify(seg.SessionID)
	return seg, nil
}

// RetrySegment queues a transcribed or failed segment again, in a language or, if that is "", in
// the teacher's. It counts as a segment of the [Limits]. The text that is there stays until there
// is another one. Errors: [ErrInvalid], [ErrNotFound], [ErrInProgress], [ErrAudioDeleted],
// [ErrLimit], [ErrStorageFull].
func (s *Service) RetrySegment(ctx context.Context, teacher, id uuid.UUID, language string) (Segment, error) {
	err := validateLanguage(language)
	if err == nil {
		err = s.checkUsage(ctx, teacher, 1)
	}
	if err != nil {
		return Segment{}, err
	}
	seg, err := s.store.RetrySegment(ctx, teacher, id, language, s.now())
	if err != nil {
		return Segment{}, err
	}
	s.broker.notify(seg.SessionID)
	return seg, nil
}

// RetryLesson does what RetrySegment does for all segments of a lesson that are transcribed or
// failed and have their audio, or for none. It fails with [ErrAudioDeleted] if all their audio was
// deleted.
func (s *Service) RetryLesson(ctx context.Context, teacher, id uuid.UUID, language string) (Lesson, error) {
	if err := validateLanguage(language); err != nil {
		return Lesson{}, err
	}
	l, err := s.store.Lesson(ctx, teacher, id)
	if err == nil {
		err = s.checkUsage(ctx, teacher, l.Counts.Transcribed+l.Counts.Failed)
	}
	if err != nil {
		return Lesson{}, err
	}
	if l, err = s.store.RetryLesson(ctx, teacher, id, language, s.now()); err != nil {
		return Lesson{}, err
	}
	s.broker.notify(l.SessionID)
	return l, nil
}

func validateLanguage(language string) error {
	var v validator
	v.language("language", language)
	return v.err()
}

// OpenAudio opens a segment's recording; the caller must close it. Errors: [ErrNotFound], also if
// the audio was deleted because of its age; [ErrStorage].
func (s *Service) OpenAudio(ctx context.Context, teacher, id uuid.UUID) (Segment, AudioFile, error) {
	seg, err := s.store.Segment(ctx, teacher, id)
	if err != nil {
		return Segment{}, nil, err
	}
	if !seg.AudioDeletedAt.IsZero() {
		return Segment{}, nil, NotFound("recording")
	}
	f, err := s.cfg.Audio.Open(ctx, seg.AudioKey)
	return seg, f, err
}
