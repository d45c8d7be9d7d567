package feedbackclient

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime/multipart"
	"net/http"
	"strconv"
	"time"
)

// Segment is one recording of a lesson.
type Segment struct {
	ID            string     `json:"segment_id"`
	Sequence      int        `json:"sequence"`
	State         string     `json:"state"`        // queued, transcribing, transcribed or failed
	Text          string     `json:"text"`         // as the recogniser returned it
	EditedText    *string    `json:"edited_text"`  // the teacher's, which counts; nil for none
	Error         string     `json:"error"`        // why the last attempt failed, or ""
	ErrorCode     string     `json:"error_code"`   // the same for programs; may be "" beside an error
	Warning       string     `json:"warning"`      // what is doubtful about the text, or ""
	WarningCode   string     `json:"warning_code"` // the same for programs
	Attempts      int        `json:"attempts"`
	Ahead         *int       `json:"ahead"`                  // before this one; nil if finished or just edited
	EstimatedWait *int       `json:"estimated_wait_seconds"` // until the text is there; nil if unknown
	Paused        bool       `json:"paused"`                 // it waits until an operator resumes recognition
	DurationMS    int64      `json:"duration_ms"`            // 0 if unknown
	SizeBytes     int64      `json:"size_bytes"`
	SHA256        string     `json:"sha256"` // of the bytes as sent, in hex
	ContentType   string     `json:"content_type"`
	CreatedAt     time.Time  `json:"created_at"`
	TranscribedAt *time.Time `json:"transcribed_at"` // nil until transcribed

	AudioDeletedAt *time.Time `json:"audio_deleted_at"` // because of its age; nil while it is there

	// Sentences are those of EditedText, or else Text, whose times are known. Only Client.Segment
	// and Client.EditSegment return them.
	Sentences []Sentence `json:"sentences"`

	// ETag is the version of EditedText, for [SegmentEdit]; "" where there are no Sentences.
	ETag string `json:"-"`
}

// SegmentEdit replaces the teacher's text of a segment.
type SegmentEdit struct {
	Text *string `json:"text"` // nil for the recogniser's text again

	// IfMatch, if not "", is the ETag that the segment must still have; else the edit is refused
	// with status 412.
	IfMatch string `json:"-"`
}

// Sentence is a sentence of a segment. Its times are milliseconds from the start of the recording.
type Sentence struct {
	Text     string `json:"text"`
	StartMS  int64  `json:"start_ms"`
	EndMS    int64  `json:"end_ms"`
	Doubtful bool   `json:"doubtful"` // perhaps not said: generated texts leave it out
}

// Recording is a recording to upload.
type Recording struct {
	// Audio is read once, and never held in memory. If it is an io.Seeker and an io.ReaderAt, as a
	// file is, the upload can be repeated as Client.MaxRetries says, from where Audio stands at the
	// call.
	Audio io.Reader

	Name     string        // of the file; may be ""
	Sequence *int          // the position in the lesson; nil: the next one
	Duration time.Duration // 0 if unknown

	// SampleRate and Channels, if not 0, declare raw samples: signed 16-bit little-endian,
	// interleaved.
	SampleRate, Channels int
}

// form returns the fields of a form around the recording, and its content type.
func (r Recording) form() (before, after []byte, contentType string) {
	var out bytes.Buffer // writing to it does not fail
	form := multipart.NewWriter(&out)
	field := func(name string, n int64) { _ = form.WriteField(name, strconv.FormatInt(n, 10)) }
	if r.Sequence != nil {
		field("sequence", int64(*r.Sequence))
	}
	if r.Duration > 0 {
		field("duration_ms", r.Duration.Milliseconds())
	}
	if r.SampleRate != 0 || r.Channels != 0 {
		_ = form.WriteField("format", "pcm")
		field("sample_rate", int64(r.SampleRate))
		field("channels", int64(r.Channels))
	}
	_, _ = form.CreateFormFile("file", cmp.Or(r.Name, "recording"))
	n := out.Len()
	_ = form.Close()
	return out.Bytes()[:n], out.Bytes()[n:], form.FormDataContentType()
}

// UploadRecording uploads one segment of a lesson, streaming it. The same recording again is
// answered with the segment that exists.
func (c Client) UploadRecording(ctx context.Context, lessonID string, in Recording) (s Segment, err error) {
	if in.Audio == nil {
		return s, errors.New("feedbackclient: Recording.Audio is nil")
	}
	before, after, contentType := in.form()
	r := request{
		method: http.MethodPost, path: path("/feedback-lessons/%s/segments", lessonID),
		header: http.Header{"Content-Type": {contentType}},
	}
	around := func(audio io.Reader) io.Reader {
		return io.MultiReader(bytes.NewReader(before), audio, bytes.NewReader(after))
	}
	audio, ok := in.Audio.(interface {
		io.Seeker
		io.ReaderAt
	})
	var start int64
	if ok {
		start, err = audio.Seek(0, io.SeekCurrent)
		ok = err == nil // a pipe is a file, too
	}
	if !ok {
		c.MaxRetries = 0 // the audio can be read once only
		r.body = func() (io.Reader, int64, error) { return around(in.Audio), -1, nil }
		return s, c.decode(ctx, r, &s)
	}
	end, err := audio.Seek(0, io.SeekEnd)
	if err != nil {
		return s, fmt.Errorf("upload: %w", err)
	}
	r.repeatable = true
	r.body = func() (io.Reader, int64, error) {
		// The transport may still read for an attempt that has failed: each has its own position.
		part := io.NewSectionReader(audio, start, end-start)
		return around(part), int64(len(before)) + part.Size() + int64(len(after)), nil
	}
	return s, c.decode(ctx, r, &s)
}

// Upload uploads one segment that is in memory.
func (c Client) Upload(
	ctx context.Context, lessonID string, sequence int, name string, audio []byte,
) (Segment, error) {
	return c.UploadRecording(ctx, lessonID, Recording{Audio: bytes.NewReader(audio), Name: name, Sequence: &sequence})
}

// Segments returns the segments of a lesson by sequence, a page at a time.
func (c Client) Segments(ctx context.Context, lessonID string) iter.Seq2[Segment, error] {
	return list[Segment](ctx, c, path("/feedback-lessons/%s/segments", lessonID), nil)
}

// Segment returns one segment.
func (c Client) Segment(ctx context.Context, id string) (s Segment, err error) {
	r := request{method: http.MethodGet, path: path("/audio-segments/%s", id), repeatable: true}
	s.ETag, err = c.decodeTagged(ctx, r, &s)
	return s, err
}

// EditSegment corrects what was said in a recording.
func (c Client) EditSegment(ctx context.Context, id string, e SegmentEdit) (s Segment, err error) {
	s.ETag, err = c.decodeTagged(ctx, edit(path("/audio-segments/%s/text", id), e, e.IfMatch), &s)
	return s, err
}

// RetrySegment queues a transcribed or failed segment again, in a language such as "en" or, if that
// is "", in the teacher's.
func (c Client) RetrySegment(ctx context.Context, id, language string) (s Segment, err error) {
	return s, c.Call(ctx, http.MethodPost, path("/audio-segments/%s/retry", id), retry(language), &s)
}

// RetryLesson does what RetrySegment does for all of a lesson.
func (c Client) RetryLesson(ctx context.Context, id, language string) (l Lesson, err error) {
	return l, c.Call(ctx, http.MethodPost, path("/feedback-lessons/%s/retry", id), retry(language), &l)
}

func retry(language string) any {
	if language == "" {
		return nil
	}
	return map[string]string{"language": language}
}

// Audio downloads a segment's recording. The caller closes it.
func (c Client) Audio(ctx context.Context, id string) (io.ReadCloser, error) {
	return c.download(ctx, path("/audio-segments/%s/audio", id))
}
