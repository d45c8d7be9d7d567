package asr

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Audio is a recording that can be opened any number of times.
type Audio struct {
	// Name is the file name of the recording, which with the size tells recordings apart. It may be
	// empty. The format is determined from the content.
	Name string
	// ContentType is the media type that the sender of the recording declared, or "". It is used
	// only for raw PCM, which has no header: "audio/pcm;rate=16000;channels=1" (16 bit,
	// little-endian) is sent with a WAV header.
	ContentType string
	// Language is the language of the speech, as an ISO 639-1 code such as "zh" or "en". If it is
	// empty, the recogniser detects the language.
	Language string
	// Words are names and terms that are likely in the recording, the most important first, for
	// recognisers that take such hints: in a prompt, as far as they fit into 600 bytes, or as a
	// list of hot words. They are not logged.
	Words []string
	// Prompt is text that precedes the recording or resembles it, for recognisers that take one. It
	// is sent before Words and not logged. Defaults to a sentence in Language, since recognisers of
	// Whisper's kind punctuate as their prompt does.
	Prompt string
	// Size is the number of bytes that Open's reader returns. Recognisers announce it before they
	// send the recording, so it must be exact.
	Size int64
	// Open returns a new reader of the recording. If the reader is an io.ReaderAt, recognisers can
	// also determine the duration.
	Open func() (io.ReadCloser, error)

	// Task is the name of a task that was created earlier for this recording, as passed to
	// SaveTask. A recogniser that knows the task waits for its result instead of creating, and
	// paying for, a new one. "" means none. For a task that the service no longer knows, and for a
	// name that is not one of its own, a recogniser creates a new task and saves its name.
	Task string
	// SaveTask, if not nil, is called with the name of a task, shorter than 256 bytes, when a
	// recogniser creates a task that outlives the call, and with "" when it is of no more use.
	// Store the name with the recording, and set Task to it when the call is repeated. If SaveTask
	// fails, recognition continues and the call is repeated later.
	SaveTask func(ctx context.Context, task string) error
}

// FromFile returns the recording in a file, which must not change while it is used.
func FromFile(path string) (Audio, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Audio{}, fmt.Errorf("audio: %w", err)
	}
	if !info.Mode().IsRegular() {
		return Audio{}, fmt.Errorf("audio: %s is not a regular file", path)
	}
	return Audio{
		Name: filepath.Base(path),
		Size: info.Size(),
		Open: func() (io.ReadCloser, error) { return os.Open(path) },
	}, nil
}

// FromBytes returns the recording in data, which must not change while it is used.
func FromBytes(name string, data []byte) Audio {
	return Audio{
		Name: name,
		Size: int64(len(data)),
		Open: func() (io.ReadCloser, error) { return memory{bytes.NewReader(data)}, nil },
	}
}

// memory is an io.ReaderAt like a file.
type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }
