package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"lessonkit.example/asr"
	"lessonkit.example/asr/audiofile"
	"lessonkit.example/asr/internal/source"
)

const (
	sampleRate     = 16000
	bytesPerSecond = sampleRate * 2
)

// demuxers are ffmpeg's names for the formats. Naming the demuxer keeps ffmpeg from guessing, so that a playlist dressed up as audio cannot make
// it open other files or addresses.
var demuxers = map[audiofile.Format]string{
	audiofile.WAV:  "wav",
	audiofile.MP3:  "mp3",
	audiofile.AAC:  "aac",
	audiofile.M4A:  "mov",
	audiofile.OGG:  "ogg",
	audiofile.FLAC: "flac",
	audiofile.WebM: "matroska",
	audiofile.AMR:  "amr",
}

// convert writes the recording to wav as 16 kHz mono and returns how long it is.
func (r *Recognizer) convert(ctx context.Context, audio asr.Audio, dir, wav string) (time.Duration, error) {
	src, err := source.Open("command", audio)
	if err != nil {
		return 0, err
	}
	defer src.Close()
	demuxer := demuxers[src.Info.Format]
	if demuxer == "" {
		return 0, source.Unusable("command", fmt.Sprintf("it is %s, which ffmpeg cannot decode", src.Info.Format))
	}
	// ffmpeg needs to seek in some formats, so the recording becomes a file first.
	in := filepath.Join(dir, "input")
	if err := copyTo(ctx, in, src); err != nil {
		return 0, err
	}
	limit := r.cfg.maxDuration()
	cmd := exec.CommandContext(ctx, r.ffmpeg, "-nostdin", "-hide_banner", "-v", "error", "-y", "-threads", "1",
		"-protocol_whitelist", "file", "-f", demuxer, "-i", "file:"+in,
		"-map", "0:a:0", "-vn", "-sn", "-dn", "-map_metadata", "-1",
		"-t", strconv.Itoa(int(limit/time.Second)+1), "-ar", strconv.Itoa(sampleRate), "-ac", "1", "-c:a", "pcm_s16le",
		"-bitexact", "-f", "wav", "file:"+wav)
	var stderr tail
	cmd.Dir, cmd.Stderr = dir, &stderr
	if err := runGroup(cmd); err != nil {
		return 0, r.conversionError(ctx, err, stderr.lines(in))
	}
	info, err := os.Stat(wav)
	if err != nil {
		return 0, &asr.Error{Op: "ffmpeg", Message: "it made no file", Err: err}
	}
	if info.Size() <= audiofile.HeaderSize {
		return 0, source.Unusable("command", "it holds no sound")
	}
	length := time.Duration(float64(info.Size()-audiofile.HeaderSize) / bytesPerSecond * float64(time.Second))
	if length > limit {
		return 0, source.Unusable("command", fmt.Sprintf("it is longer than %v", limit))
	}
	return length, nil
}

// conversionError tells damaged audio from trouble on this machine.
func (r *Recognizer) conversionError(ctx context.Context, err error, said string) error {
	e := &asr.Error{Op: "ffmpeg", Message: said}
	exit, isExit := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		e.Err = ctx.Err()
	case strings.Contains(said, "No space left"):
		e.Class = asr.ErrUnavailable
	case !isExit: // it could not be started
		e.Class, e.Err = asr.ErrUnavailable, err
	case exit.ExitCode() < 0: // killed by a signal, perhaps for memory
		e.Err = err
	default:
		e.Class = asr.ErrUnusableAudio
		if said == "" {
			e.Message = "ffmpeg cannot decode it"
		} else {
			e.Message = "ffmpeg cannot decode it: " + said
		}
	}
	return e
}

// copyTo writes the whole recording to a new file.
func copyTo(ctx context.Context, path string, src *source.Source) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return &asr.Error{Op: "command", Class: asr.ErrUnavailable, Message: "no room for temporary files", Err: err}
	}
	var failure source.Failure
	body := source.NewBody(src.Prefix, src, nil, &failure)
	_, err = io.Copy(f, contextReader{ctx, body})
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	switch {
	case err == nil:
		return nil
	case failure.Err() != nil:
		return &asr.Error{Op: "command", Message: "read audio", Err: failure.Err()}
	case ctx.Err() != nil:
		return &asr.Error{Op: "command", Err: ctx.Err()}
	}
	return &asr.Error{Op: "command", Class: asr.ErrUnavailable, Message: "no room for temporary files", Err: err}
}

// contextReader ends a copy when ctx ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
