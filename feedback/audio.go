package feedback

import (
	"context"
	"io"
	"iter"
	"time"
)

// AudioStore keeps recordings. It chooses their keys; no part of a key comes from a client.
// Implementations are safe for concurrent use; package feedbacktest tests them, and package
// audiotype detects the types of recordings for them. The errors named here are kinds of [Error],
// whose Message the teacher is shown.
//
// A store of limited space may have a method CheckSpace(ctx context.Context) error, which fails
// with [ErrStorageFull] if a recording would not be accepted now. It is called before an upload is
// read.
type AudioStore interface {
	// Stage reads r to its end, once, in constant memory, and holds the bytes outside of the store.
	// It reads at most one byte more than maxBytes. It fails with [ErrAudioTooLarge], with
	// [ErrAudioEmpty], with [ErrUpload] if r fails, with [ErrStorageFull] if there is no space, and
	// with [ErrStorage]. A failed Stage leaves nothing behind.
	Stage(ctx context.Context, r io.Reader, maxBytes int64) (StagedAudio, error)

	// Open opens kept audio, or fails with [ErrNotFound], whatever is in the key.
	Open(ctx context.Context, key string) (AudioFile, error)

	// Delete deletes kept audio. A missing key is not an error.
	Delete(ctx context.Context, key string) error

	// Keys yields the keys of audio last written before a time, and deletes what Stage has received
	// before and a process that died has left. The sequence ends after its first error. Audio of
	// others is not among it: [Service.Sweep] deletes what no segment refers to.
	Keys(ctx context.Context, before time.Time) iter.Seq2[string, error]
}

// StagedAudio is audio that has been received and not yet kept. It is not safe for concurrent use.
type StagedAudio interface {
	// Info describes what was received, also after Keep.
	Info() AudioInfo

	// Keep makes the audio durable and returns its new key: when it returns, the audio survives a
	// power failure. It fails with [ErrAudioType] if the content is not audio of a supported type.
	// If pcm is set and the content has no type of its own, it is kept as raw samples with a WAV
	// header.
	Keep(ctx context.Context, pcm *PCM) (KeptAudio, error)

	// Discard deletes the audio unless it was kept. It may be called at any time and repeatedly.
	Discard() error
}

// AudioInfo describes received audio.
type AudioInfo struct {
	Size   int64  // bytes, as received
	SHA256 string // of the bytes as received, in lower-case hex
}

// KeptAudio describes audio in a store.
type KeptAudio struct {
	Key         string
	ContentType string // detected from the content, as in "audio/mpeg"
}

// AudioFile is open audio.
type AudioFile interface {
	io.ReadSeekCloser
	Size() int64 // bytes, as kept
}

// PCM describes raw samples: signed 16-bit little-endian, interleaved.
type PCM struct {
	SampleRate int // samples per second and channel
	Channels   int
}

// Transcriber turns speech into text. It is safe for concurrent use. The methods of its errors, or
// of errors they wrap, classify the failure: if `Permanent() bool` returns true, another attempt
// cannot help; if `RetryAfter() time.Duration` returns more than 0, the transcriber is unavailable
// and the attempt does not count; if `Suspect() bool` returns true, the transcriber was lost while
// it had the recording, which may be the cause: the recording is tried again late and alone, and
// fails after a few times. Otherwise the attempt counts. The text of `PublicText() string` is shown
// to the teacher, and `PublicCode() string` is [Segment.ErrorCode] if it is one of [FailureCodes].
type Transcriber interface {
	Transcribe(ctx context.Context, a Audio) (Transcript, error)
}

// Audio is a recording for a [Transcriber].
type Audio struct {
	Name        string // a file name with a suitable extension, without a directory
	ContentType string
	Size        int64 // bytes that Open's reader returns
	// UploadedAt is when the upload was complete.
	UploadedAt time.Time

	// Language is the language of the speech, such as "en" or "zh-CN", or "" if the transcriber's
	// configuration decides.
	Language string
	// Words are names and terms to expect, the most important first: the student's name, the
	// subject and [Service.Words]. They are personal data: a transcriber neither logs them nor puts
	// them into its errors, which are logged.
	Words []string

	// Open opens the audio at its start. It may be called more than once.
	Open func() (io.ReadCloser, error)

	// Task is what SaveTask was given last for this recording, also by a process that has died, or
	// "". A transcriber whose provider knows the task waits for its result instead of paying again.
	Task string
	// SaveTask stores the name of a task that a provider creates for the recording, before the
	// transcriber waits for it; "" forgets it. Names are shorter than 256 bytes.
	SaveTask func(ctx context.Context, task string) error
}

// Transcript is recognised speech.
type Transcript struct {
	Text     string        // what was said, punctuated; "" if nothing; more than 1 MiB is a failure
	Duration time.Duration // of the audio; 0 if unknown
	// HeaderDuration is how long the recording is according to its header, if it is shorter, since
	// it was cut off; else 0.
	HeaderDuration time.Duration
	// Sentences are the sentences of Text, in their order, as far as the transcriber knows their
	// times or doubts. The first 2,000 are kept.
	Sentences []Sentence
}
