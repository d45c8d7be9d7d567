package audiodir

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiotype"
	"lessonkit.example/feedback/internal/recording"
)

// staged implements [feedback.StagedAudio].
type staged struct {
	store *Store
	recording.Staged
}

// Stage implements [feedback.AudioStore].
func (s *Store) Stage(ctx context.Context, r io.Reader, maxBytes int64) (feedback.StagedAudio, error) {
	if err := s.CheckSpace(ctx); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Join(s.dir, incoming), "*")
	if err != nil {
		return nil, storageError("create", err)
	}
	a := &staged{store: s, Staged: recording.Staged{File: f}}
	if a.Received, err = recording.Receive(ctx, incomingFile{f, s}, r, maxBytes); err != nil {
		return nil, errors.Join(err, a.Discard())
	}
	return a, nil
}

// incomingFile writes an upload to its file while there is more space than the reserve.
type incomingFile struct {
	*os.File
	store *Store
}

func (f incomingFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	if err != nil {
		return n, err
	}
	// Many uploads that each began while there was space may together take more than there is.
	return n, f.store.CheckSpace(context.Background())
}

// Keep implements [feedback.StagedAudio].
func (a *staged) Keep(_ context.Context, pcm *feedback.PCM) (feedback.KeptAudio, error) {
	kept, raw, err := a.Accept(pcm, a.store.Converted)
	if err != nil {
		return feedback.KeptAudio{}, err
	}
	if raw {
		if err := a.addHeader(*pcm); err != nil {
			return feedback.KeptAudio{}, storageError("write", err)
		}
	}
	if err := a.moveTo(a.store.path(kept.Key)); err != nil {
		return feedback.KeptAudio{}, storageError("keep", err)
	}
	return kept, nil
}

// addHeader copies raw samples into a new file after a WAV header. Whether samples are raw is known
// only after all parts of an upload have been read.
func (a *staged) addHeader(pcm feedback.PCM) error {
	if _, err := a.File.Seek(0, io.SeekStart); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Join(a.store.dir, incoming), "*")
	if err != nil {
		return err
	}
	raw := a.File
	a.File = f // Discard removes the new file from now on
	_, err = f.Write(audiotype.WAVHeader(a.Size, pcm.SampleRate, pcm.Channels))
	if err == nil {
		_, err = io.Copy(f, raw)
	}
	return errors.Join(err, raw.Close(), os.Remove(raw.Name()))
}

// moveTo makes the file and its name durable.
func (a *staged) moveTo(path string) error {
	if err := a.File.Sync(); err != nil {
		return err
	}
	f := a.File
	a.File = nil
	err := f.Close() // Windows does not rename an open file
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
