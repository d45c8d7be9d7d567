package feedback

import (
	"time"

	"github.com/google/uuid"
)

// SegmentState is the state of a [Segment].
type SegmentState string

// The states of a segment: queued → transcribing → transcribed or failed, and
// failed → queued by a retry. A segment whose recogniser is away goes back
// from transcribing to queued.
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

	State    SegmentState
	Text     string // what was said
	Error    string // why the last attempt failed, fit for the teacher
	Attempts int    // attempts that counted

	AudioKey    string        // names the audio in the [AudioStore]
	Duration    time.Duration // to the millisecond; 0 when unknown
	Size        int64         // bytes, as sent
	SHA256      string        // of the bytes as sent, in hex
	ContentType string        // as recognised by content

	CreatedAt     time.Time
	TranscribedAt time.Time // zero until transcribed

	Revision int64 // of the session, when this segment last changed
}

// SegmentInput describes a recording that is uploaded.
type SegmentInput struct {
	Sequence *int          // 0 to 9999; defaults to the next free one
	Duration time.Duration // what the recorder says; 0 when it says nothing
	PCM      *PCM          // declares raw samples, which have no recognisable form
}

func (in SegmentInput) validate() error {
	var v validator
	if in.Sequence != nil {
		v.between("sequence", *in.Sequence, 0, MaxSequence)
	}
	v.between("duration_ms", int(in.Duration.Milliseconds()), 0, maxSegmentDurationMS)
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

func (c *SegmentCounts) add(segments []Segment) {
	for _, s := range segments {
		c.Total++
		switch s.State {
		case SegmentQueued:
			c.Queued++
		case SegmentTranscribing:
			c.Transcribing++
		case SegmentTranscribed:
			c.Transcribed++
		case SegmentFailed:
			c.Failed++
		}
	}
}
