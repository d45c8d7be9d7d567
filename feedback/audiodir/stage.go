package audiodir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiotype"
)

const (
	// copyBuffer is the size of the pieces that an upload is handled in. An
	// upload holds two of them in memory.
	copyBuffer = 128 << 10
	// writebackStep is how much is received before its writing to disk begins.
	writebackStep = 8 << 20
)

// staged implements [feedback.StagedAudio].
type staged struct {
	store *Store
	f     *os.File // nil once kept or discarded
	info  feedback.AudioInfo
	head  []byte
}

// Stage implements [feedback.AudioStore].
func (s *Store) Stage(ctx context.Context, r io.Reader, maxBytes int64) (feedback.StagedAudio, error) {
	f, err := os.CreateTemp(filepath.Join(s.dir, incoming), "*")
	if err != nil {
		return nil, storageError("create", err)
	}
	a := &staged{store: s, f: f}
	if err := a.receive(ctx, r, maxBytes); err != nil {
		return nil, errors.Join(err, a.Discard())
	}
	return a, nil
}

// receive copies r, keeping apart whose fault an error is.
func (a *staged) receive(ctx context.Context, r io.Reader, maxBytes int64) error {
	buffers := a.store.buffers.Get().(*[2][copyBuffer]byte)
	defer a.store.buffers.Put(buffers)
	hash := newHasher()
	defer hash.stop()
	var started int64 // up to here the disk is at work
	for i, done := 0, false; !done; i++ {
		buf := &buffers[i%2]
		if err := ctx.Err(); err != nil {
			return err
		}
		// One byte past the limit tells that there is more. A full buffer spares the disk small writes.
		chunk := buf[:min(int64(len(buf)), maxBytes+1-a.info.Size)]
		n, err := fill(r, chunk)
		chunk = chunk[:n]
		a.info.Size += int64(n)
		switch {
		case a.info.Size > maxBytes:
			return &feedback.Error{Kind: feedback.ErrAudioTooLarge,
				Message: fmt.Sprintf("the recording is larger than %d bytes, the most that is taken", maxBytes)}
		case err == io.EOF:
			done = true
		case err != nil:
			return &feedback.Error{Kind: feedback.ErrUpload, Message: "the upload broke off", Err: err}
		}
		hash.add(chunk)
		if missing := audiotype.Sniff - len(a.head); missing > 0 {
			a.head = append(a.head, chunk[:min(n, missing)]...)
		}
		if _, err := a.f.Write(chunk); err != nil {
			return storageError("write", err)
		}
		if a.info.Size-started >= writebackStep {
			startWriteback(a.f, started, a.info.Size-started)
			started = a.info.Size
		}
	}
	if a.info.Size == 0 {
		return &feedback.Error{Kind: feedback.ErrAudioEmpty, Message: "the recording is empty"}
	}
	a.info.SHA256 = hash.stop()
	return nil
}

// hasher works out a hash beside the reading and writing: on a large upload it
// would take a third of the time.
type hasher struct {
	chunks chan<- []byte
	sum    <-chan string
	result string
}

func newHasher() *hasher {
	chunks, sum := make(chan []byte), make(chan string, 1)
	go func() {
		hash := sha256.New()
		for chunk := range chunks {
			hash.Write(chunk)
		}
		sum <- hex.EncodeToString(hash.Sum(nil))
	}()
	return &hasher{chunks: chunks, sum: sum}
}

// add hands a chunk over. When it returns, the one before is done with.
func (h *hasher) add(chunk []byte) { h.chunks <- chunk }

// stop waits for the last chunk and returns the sum. It may be called again.
func (h *hasher) stop() string {
	if h.chunks != nil {
		close(h.chunks)
		h.chunks = nil
		h.result = <-h.sum
	}
	return h.result
}

// fill reads until p is full or r ends. Unlike io.ReadFull it keeps the error
// of r as it is: an end that a cut connection makes is not the end of the audio.
func fill(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var more int
		more, err = r.Read(p[n:])
		n += more
	}
	return n, err
}

// Info implements [feedback.StagedAudio].
func (a *staged) Info() feedback.AudioInfo { return a.info }

// Discard implements [feedback.StagedAudio].
func (a *staged) Discard() error {
	if a.f == nil {
		return nil
	}
	f := a.f
	a.f = nil
	err := errors.Join(f.Close(), os.Remove(f.Name()))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return storageError("discard", err)
	}
	return nil
}

// Keep implements [feedback.StagedAudio].
func (a *staged) Keep(_ context.Context, pcm *feedback.PCM) (feedback.KeptAudio, error) {
	if a.f == nil {
		return feedback.KeptAudio{}, errors.New("audiodir: keep: already kept or discarded")
	}
	detect := audiotype.Detect
	if pcm != nil {
		detect = audiotype.DetectInSamples
	}
	kind, ok := detect(a.head)
	if !ok {
		if pcm == nil {
			return feedback.KeptAudio{}, &feedback.Error{Kind: feedback.ErrAudioType,
				Message: "the content is not audio of a kind that is taken: mp3, aac, m4a, wav, ogg, webm, flac, amr, or raw samples declared as such"}
		}
		if err := a.addHeader(*pcm); err != nil {
			return feedback.KeptAudio{}, storageError("write", err)
		}
		kind = audiotype.WAV()
	}
	key, err := newKey(kind.Extension)
	if err != nil {
		return feedback.KeptAudio{}, err
	}
	if err := a.moveTo(filepath.Join(a.store.dir, filepath.FromSlash(key))); err != nil {
		return feedback.KeptAudio{}, storageError("keep", err)
	}
	return feedback.KeptAudio{Key: key, ContentType: kind.ContentType}, nil
}

// addHeader copies raw samples behind a WAV header, into a new file. Whether
// samples are raw is known only when all parts of an upload have been read.
func (a *staged) addHeader(pcm feedback.PCM) error {
	if _, err := a.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Join(a.store.dir, incoming), "*")
	if err != nil {
		return err
	}
	raw := a.f
	a.f = f // from now on Discard removes the new file
	_, err = f.Write(audiotype.WAVHeader(a.info.Size, pcm.SampleRate, pcm.Channels))
	if err == nil {
		_, err = io.Copy(f, raw)
	}
	return errors.Join(err, raw.Close(), os.Remove(raw.Name()))
}

// moveTo makes the file and its name durable.
func (a *staged) moveTo(path string) error {
	if err := a.f.Sync(); err != nil {
		return err
	}
	dropCache(a.f)
	if err := os.Rename(a.f.Name(), path); err != nil {
		return err
	}
	f := a.f
	a.f = nil
	if err := errors.Join(f.Close(), syncDir(filepath.Dir(path))); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
