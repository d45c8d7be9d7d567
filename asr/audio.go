package asr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Audio is a recording that can be opened as often as needed. It is never held whole in memory.
type Audio struct {
	// Name is the recording's file name, for messages. It may be "". The format is found from the content, not from the name.
	Name string
	// ContentType is the media type as declared by whoever made the recording, or "". It counts only where the
	// content cannot tell: raw PCM is taken as "audio/pcm;rate=16000;channels=1" (16 bit, little endian) or
	// "audio/L16;rate=16000;channels=1" (big endian, RFC 2586) and sent with a WAV header.
	ContentType string
	// Language is what is spoken, as a code of ISO 639-1 such as "zh" or "en". "" lets the recogniser find out.
	Language string
	// Size is the number of bytes that Open gives. Recognisers announce it before they send, so it must be exact.
	Size int64
	// Open returns the recording from its start. Each call gives an independent reader. An *os.File is sent
	// without copying it through the program where the system can do that.
	Open func() (io.ReadCloser, error)

	// Task names work that was begun for this recording before, as given to SaveTask. A recogniser that knows it goes
	// on waiting for its result instead of beginning, and paying, again. "" begins anew.
	Task string
	// SaveTask, if set, is called as soon as a recogniser has begun work that outlives the call, with a name under 256
	// bytes for it. Store it beside the recording and pass it as Task when the call has to be made again. If it
	// fails it is called again later; recognition goes on.
	SaveTask func(ctx context.Context, task string) error
	// Progress, if set, is told how far into the recording recognition has come, by recognisers that can tell.
	// It is called by one goroutine at a time and should return quickly.
	Progress func(done time.Duration)
}

// FromFile returns the recording in a file. The file must not change while it is used.
func FromFile(path string) (Audio, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Audio{}, fmt.Errorf("audio: %w", err)
	}
	if !info.Mode().IsRegular() {
		return Audio{}, fmt.Errorf("audio: %w", &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")})
	}
	return Audio{
		Name: filepath.Base(path),
		Size: info.Size(),
		Open: func() (io.ReadCloser, error) { return os.Open(path) },
	}, nil
}

// FromBytes returns a recording that is in memory already. The bytes must not change while it is used.
func FromBytes(name string, data []byte) Audio {
	return Audio{
		Name: name,
		Size: int64(len(data)),
		Open: func() (io.ReadCloser, error) { return memory{bytes.NewReader(data)}, nil },
	}
}

// memory is a recording in memory, which can be read at random like a file.
type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }
