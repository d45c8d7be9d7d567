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

const sampleRate = 16000

// demuxers maps formats to ffmpeg's names for them. With an explicit demuxer ffmpeg does not guess
// the format, so that a playlist disguised as audio cannot make it open other files or addresses.
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

// convert writes the recording to the file wav as 16 kHz mono and returns its duration.
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
	// ffmpeg must be able to seek in some formats.
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
		return 0, conversionError(ctx, err, stderr.line(in))
	}
	info, err := os.Stat(wav)
	if err != nil {
		return 0, &asr.Error{Op: "ffmpeg", Message: "no output file", Err: err}
	}
	if info.Size() <= audiofile.HeaderSize {
		return 0, source.Unusable("command", "it contains no sound")
	}
	pcm := audiofile.PCM{Rate: sampleRate, Channels: 1}
	duration := pcm.Duration(info.Size() - audiofile.HeaderSize)
	if duration > limit {
		return 0, source.Unusable("command", fmt.Sprintf("it is longer than %v", limit))
	}
	return duration, nil
}

// conversionError distinguishes damaged audio from problems of this machine. stderr is the end of
// what ffmpeg has printed.
func conversionError(ctx context.Context, err error, stderr string) error {
	e := &asr.Error{Op: "ffmpeg", Message: stderr}
	exit, isExit := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		e.Err = ctx.Err()
	case strings.Contains(stderr, "No space left"):
		e.Class = asr.ErrUnavailable
	case !isExit: // it could not be started
		e.Class, e.Err = asr.ErrUnavailable, err
	case exit.ExitCode() < 0: // killed by a signal, perhaps for lack of memory
		e.Err = err
	default:
		e.Class = asr.ErrUnusableAudio
		e.Message = strings.TrimSuffix("ffmpeg cannot decode it: "+stderr, ": ")
	}
	return e
}

// copyTo writes the whole recording to a new file.
func copyTo(ctx context.Context, path string, src *source.Source) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return noSpace(err)
	}
	_, err = io.Copy(f, contextReader{ctx, src})
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	e, reading := errors.AsType[*asr.Error](err)
	switch {
	case err == nil:
		return nil
	case reading:
		return e
	case ctx.Err() != nil:
		return &asr.Error{Op: "command", Err: ctx.Err()}
	}
	return noSpace(err)
}

func noSpace(err error) error {
	return &asr.Error{Op: "command", Class: asr.ErrUnavailable, Message: "cannot write temporary files", Err: err}
}

// contextReader returns the error of ctx once it has ended.
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
