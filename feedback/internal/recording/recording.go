// Package recording has what the stores of recordings have in common: how an upload is received,
// which audio is accepted, and what keys look like.
package recording

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"regexp"
	"syscall"

	"github.com/google/uuid"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiotype"
)

const (
	// partSize is how many bytes of an upload are received, and then written, at once.
	partSize = 128 << 10
	// firstPart is smaller: many uploads that have just begun, and may be slow, take little memory.
	firstPart = 64 << 10
	// maxParts is how many parts of an upload are in memory at most.
	maxParts = 2
)

// Received describes an upload.
type Received struct {
	feedback.AudioInfo
	Head []byte // its first bytes, up to audiotype.HeadSize
}

// Receive copies r to w and hashes it, in constant memory. Its errors are those of
// [feedback.AudioStore], as w may return them itself.
func Receive(ctx context.Context, w io.Writer, r io.Reader, maxBytes int64) (got Received, err error) {
	h := newHasher()
	defer func() {
		if sum := h.sum(); err == nil {
			got.SHA256 = hex.EncodeToString(sum)
		}
	}()
	for done := false; !done; {
		if err := ctx.Err(); err != nil {
			return Received{}, err
		}
		part := h.buffer(got.Size == 0)
		// A byte more than the limit shows that the recording is too large.
		n, err := fill(r, part[:min(int64(len(part)), maxBytes+1-got.Size)])
		part = part[:n]
		got.Size += int64(n)
		switch {
		case got.Size > maxBytes:
			return Received{}, TooLarge(maxBytes)
		case err == io.EOF:
			done = true
		case err != nil:
			return Received{}, &feedback.Error{Kind: feedback.ErrUpload, Message: "the upload failed", Err: err}
		}
		h.parts <- part // which is only read from now on
		got.Head = append(got.Head, part[:min(n, audiotype.HeadSize-len(got.Head))]...)
		if _, err := w.Write(part); err != nil {
			if _, known := errors.AsType[*feedback.Error](err); !known {
				err = StorageError("write an upload", err)
			}
			return Received{}, err
		}
	}
	if got.Size == 0 {
		return Received{}, &feedback.Error{Kind: feedback.ErrAudioEmpty, Message: "the recording is empty"}
	}
	return got, nil
}

// TooLarge is the failure of an upload of more bytes than the limit.
func TooLarge(limit int64) error {
	return &feedback.Error{Kind: feedback.ErrAudioTooLarge,
		Message: fmt.Sprintf("the recording is larger than the limit of %.7g MB", float64(limit)/(1<<20))}
}

// Staged is an upload in a temporary file: what the [feedback.StagedAudio] of all stores have in
// common.
type Staged struct {
	Received
	File *os.File // nil once kept or discarded
}

// Info implements [feedback.StagedAudio].
func (s *Staged) Info() feedback.AudioInfo { return s.AudioInfo }

// Discard implements [feedback.StagedAudio]. The file may have lost its name before.
func (s *Staged) Discard() error {
	if s.File == nil {
		return nil
	}
	f := s.File
	s.File = nil
	err := f.Close()
	if removed := os.Remove(f.Name()); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	if err != nil {
		return StorageError("discard an upload", err)
	}
	return nil
}

// hasher hashes the parts of an upload in a goroutine: that takes as long as receiving them and
// writing a file, so both are done at the same time.
type hasher struct {
	hash        hash.Hash
	free, parts chan []byte
	done        chan struct{}
}

func newHasher() *hasher {
	h := &hasher{hash: sha256.New(), free: make(chan []byte, maxParts), parts: make(chan []byte, maxParts),
		done: make(chan struct{})}
	for range maxParts {
		h.free <- nil // not yet allocated
	}
	go func() {
		defer close(h.done)
		for part := range h.parts {
			h.hash.Write(part)
			h.free <- part
		}
	}()
	return h
}

// buffer returns memory for the next part.
func (h *hasher) buffer(first bool) []byte {
	size := partSize
	if first {
		size = firstPart
	}
	if b := <-h.free; cap(b) >= size {
		return b[:size]
	}
	return make([]byte, size)
}

// sum ends the goroutine and returns the sum of all parts.
func (h *hasher) sum() []byte {
	close(h.parts)
	<-h.done
	return h.hash.Sum(nil)
}

// Accept returns the type of an upload and a new key for it, and whether it is raw samples, to be
// kept with a header before them. It fails with [feedback.ErrAudioType].
func (s *Staged) Accept(pcm *feedback.PCM, converted bool) (_ feedback.KeptAudio, raw bool, err error) {
	if s.File == nil {
		return feedback.KeptAudio{}, false, errors.New("keep an upload: already kept or discarded")
	}
	detect := audiotype.Detect
	if pcm != nil {
		detect = audiotype.DetectInSamples
	}
	kind, known := detect(s.Head)
	if raw = !known && pcm != nil; raw {
		kind = audiotype.WAV()
	}
	if err := kind.Check(converted); err != nil {
		return feedback.KeptAudio{}, false, err
	}
	return feedback.KeptAudio{Key: newKey(kind.Extension), ContentType: kind.ContentType}, raw, nil
}

// StorageError is the failure of an operation of a store: [feedback.ErrStorageFull] if a disk or a
// quota is full, else [feedback.ErrStorage].
func StorageError(op string, err error) error {
	err = fmt.Errorf("%s: %w", op, err)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return Full(err)
	}
	return &feedback.Error{Kind: feedback.ErrStorage, Message: "the audio storage is not available", Err: err}
}

// Full is the failure of an upload for which there is no space.
func Full(cause error) error {
	return &feedback.Error{Kind: feedback.ErrStorageFull, Err: cause,
		Message: "the server has no space for another recording at the moment"}
}

// keys look like "3f/0192f1c5-….mp3": one of 256 directories, a UUID, an extension.
var keys = regexp.MustCompile(`^[0-9a-f]{2}/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.[a-z0-9]{2,4}$`)

// IsKey reports whether a string looks like a key that newKey returns. Others are not audio.
func IsKey(s string) bool { return keys.MatchString(s) }

// newKey returns a random key. The end of a version 7 UUID is random, its beginning is the time.
func newKey(extension string) string {
	s := uuid.Must(uuid.NewV7()).String()
	return s[len(s)-2:] + "/" + s + extension
}

// fill reads until p is full or r fails; full buffers make for few writes. Unlike io.ReadFull it
// returns the error of r unchanged: io.ErrUnexpectedEOF of a broken connection is not the end of
// the audio.
func fill(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var more int
		more, err = r.Read(p[n:])
		n += more
	}
	return n, err
}
