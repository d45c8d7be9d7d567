package audios3

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"

	"github.com/minio/minio-go/v7"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiotype"
	"lessonkit.example/feedback/internal/recording"
)

// staged implements [feedback.StagedAudio].
type staged struct {
	store            *Store
	recording.Staged // in a file after a gap for a WAV header
}

// Stage implements [feedback.AudioStore].
func (s *Store) Stage(ctx context.Context, r io.Reader, maxBytes int64) (feedback.StagedAudio, error) {
	f, err := os.CreateTemp("", "lessonkit-upload-*")
	if err != nil {
		return nil, storageError("create", err)
	}
	os.Remove(f.Name()) // where open files cannot be removed, Discard does it
	a := &staged{store: s, Staged: recording.Staged{File: f}}
	if _, err := f.Seek(audiotype.HeaderSize, io.SeekStart); err != nil {
		return nil, errors.Join(storageError("create", err), a.Discard())
	}
	if a.Received, err = recording.Receive(ctx, f, r, maxBytes); err != nil {
		return nil, errors.Join(err, a.Discard())
	}
	return a, nil
}

// Keep implements [feedback.StagedAudio].
func (a *staged) Keep(ctx context.Context, pcm *feedback.PCM) (feedback.KeptAudio, error) {
	kept, raw, err := a.Accept(pcm, a.store.converted)
	if err != nil {
		return feedback.KeptAudio{}, err
	}
	content, sum := io.NewSectionReader(a.File, audiotype.HeaderSize, a.Size), a.SHA256
	if raw {
		if content, sum, err = a.withHeader(*pcm); err != nil {
			return feedback.KeptAudio{}, err
		}
	}
	// The client can repeat the request because the content can be read again, and because the key
	// is new: an object that a lost answer was about has the same content. Without the first option
	// it ignores the sum and divides the body into chunks that it hashes itself.
	options := minio.PutObjectOptions{DisableContentSha256: true, ContentType: kept.ContentType,
		UserMetadata: map[string]string{sumMetadata: sum}}
	_, err = a.store.client.PutObject(
		ctx, a.store.bucket, a.store.prefix+kept.Key, content, content.Size(), "", sum, options)
	if err != nil {
		return feedback.KeptAudio{}, storageError("keep", err)
	}
	if err := a.Discard(); err != nil {
		return feedback.KeptAudio{}, errors.Join(err, a.store.Delete(ctx, kept.Key))
	}
	return kept, nil
}

// withHeader writes a WAV header before the samples and returns both with their SHA-256.
func (a *staged) withHeader(pcm feedback.PCM) (*io.SectionReader, string, error) {
	if _, err := a.File.WriteAt(audiotype.WAVHeader(a.Size, pcm.SampleRate, pcm.Channels), 0); err != nil {
		return nil, "", storageError("write", err)
	}
	content, hash := io.NewSectionReader(a.File, 0, audiotype.HeaderSize+a.Size), sha256.New()
	if _, err := io.Copy(hash, content); err != nil {
		return nil, "", storageError("read", err)
	}
	return content, hex.EncodeToString(hash.Sum(nil)), nil
}
