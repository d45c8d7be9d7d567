// Package ffmpeg converts recordings to WAV, 16 kHz, one channel, 16 bit, which every recogniser
// reads.
package ffmpeg

import (
	"cmp"
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
	"lessonkit.example/asr/internal/process"
	"lessonkit.example/asr/provider"
	"lessonkit.example/internal/tempdir"
)

const sampleRate = 16000

// demuxers are ffmpeg's names of formats where they differ from ours. With an explicit demuxer
// ffmpeg does not guess the format, so that a playlist disguised as audio cannot make it open other
// files or addresses.
var demuxers = map[audiofile.Format]string{audiofile.M4A: "mov", audiofile.WebM: "matroska"}

// Find returns the path of the converter of the recogniser op, and deletes the temporary files of
// processes that were killed.
func Find(op, program string) (string, error) {
	path, err := process.Find(program)
	if err != nil {
		return "", fmt.Errorf("%s recogniser: the converter: %w", op, err)
	}
	tempdir.Sweep("", tempPrefix(op))
	return path, nil
}

// tempPrefix returns the beginning of the names of temporary directories.
func tempPrefix(op string) string { return "lessonkit-asr-" + op + "-" }

// maxConverted limits a recording that is converted by Source.
const maxConverted = 12 * time.Hour

// Source closes src and returns what program, which Find has found, makes of it within the time.
// Without a program it returns src. Closing the result deletes its temporary file.
func Source(
	ctx context.Context, op, program string, src *provider.Source, within time.Duration,
) (*provider.Source, error) {
	if program == "" {
		return src, nil
	}
	defer src.Close()
	dir, err := tempdir.New("", tempPrefix(op))
	if err != nil {
		return nil, NoSpace(op, err)
	}
	defer dir.Remove() // an open file remains readable
	wav := filepath.Join(dir.Path, "audio.wav")
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	info, err := Convert(ctx, op, program, src, dir.Path, wav, maxConverted)
	if err != nil {
		if ctx.Err() != nil { // without a class: the recogniser was not asked
			err = &asr.Error{Op: "ffmpeg", Message: fmt.Sprintf("not converted within %v", within), Err: ctx.Err()}
		}
		return nil, err
	}
	converted, err := asr.FromFile(wav)
	if err != nil {
		return nil, NoSpace(op, err)
	}
	converted.Open = func() (io.ReadCloser, error) {
		f, err := os.Open(wav)
		return temporary{f, dir.Path}, err
	}
	out, err := provider.Open(op, converted)
	if err == nil {
		out.Info.Header = info.Header
	}
	return out, err
}

// temporary is a file in a directory that is deleted when the file is closed, for Windows, which
// does not delete an open file.
type temporary struct {
	*os.File
	dir string
}

func (t temporary) Close() error { return errors.Join(t.File.Close(), os.RemoveAll(t.dir)) }

// Convert writes the recording to the file wav as 16 kHz mono and returns what src.Info is with its
// real duration. program is ffmpeg, op the operation for errors, and dir a directory for temporary
// files that the caller removes.
func Convert(
	ctx context.Context, op, program string, src *provider.Source, dir, wav string, longest time.Duration,
) (audiofile.Info, error) {
	if src.Info.Format == audiofile.SILK {
		return audiofile.Info{}, provider.Unusable(op,
			"it is SILK, the format of a messenger's voice messages, which ffmpeg cannot "+
				"decode; set the recorder to mp3, aac or wav")
	}
	demuxer := cmp.Or(demuxers[src.Info.Format], string(src.Info.Format))
	// ffmpeg must be able to seek in some formats.
	in := filepath.Join(dir, "input")
	if err := copyTo(ctx, op, in, src); err != nil {
		return audiofile.Info{}, err
	}
	cmd := exec.CommandContext(ctx, program, "-nostdin", "-hide_banner", "-v", "error", "-y", "-threads", "1",
		"-protocol_whitelist", "file", "-f", demuxer, "-i", "file:"+in,
		"-map", "0:a:0", "-vn", "-sn", "-dn", "-map_metadata", "-1",
		"-t", strconv.Itoa(int(longest/time.Second)+1),
		"-ar", strconv.Itoa(sampleRate), "-ac", "1", "-c:a", "pcm_s16le",
		"-bitexact", "-f", "wav", "file:"+wav)
	var stderr process.Tail
	cmd.Dir, cmd.Stderr = dir, &stderr
	if err := process.Run(cmd); err != nil {
		return audiofile.Info{}, conversionError(ctx, err, process.OneLine(stderr.String(), in))
	}
	info, err := os.Stat(wav)
	if err != nil {
		return audiofile.Info{}, &asr.Error{Op: "ffmpeg", Message: "no output file", Err: err}
	}
	if info.Size() <= audiofile.HeaderSize {
		return audiofile.Info{}, provider.Unusable(op, "it contains no sound")
	}
	pcm := audiofile.PCM{Rate: sampleRate, Channels: 1}
	duration := pcm.Duration(info.Size() - audiofile.HeaderSize)
	if duration > longest {
		return audiofile.Info{}, provider.Unusable(op, fmt.Sprintf("it is longer than %v", longest))
	}
	return src.Info.Measured(duration), nil
}

// fullDelay is how long a recording waits that has filled the disk. It may do so again, and is not
// given up: a few megabytes of silence are twelve hours.
const fullDelay = 10 * time.Minute

// conversionError distinguishes damaged audio from problems of this machine. stderr is the end of
// what ffmpeg has printed.
func conversionError(ctx context.Context, err error, stderr string) error {
	e := &asr.Error{Op: "ffmpeg", Message: "the conversion failed", Err: errors.New(cmp.Or(stderr, err.Error()))}
	exit, isExit := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		e.Err = ctx.Err()
	case strings.Contains(stderr, "No space left"), strings.Contains(stderr, "quota exceeded"):
		e.Class, e.After = asr.ErrUnavailable, fullDelay
	case !isExit: // it could not be started
		e.Class, e.Err = asr.ErrUnavailable, err
	case exit.ExitCode() < 0: // killed by a signal, perhaps for lack of memory
		e.Err = err
	default: // the owner of the recording reads the message
		e.Class, e.Message = asr.ErrUnusableAudio, "it is damaged"
		switch {
		case strings.Contains(stderr, "matches no streams"):
			e.Message = "it contains no sound"
		case strings.Contains(stderr, "moov atom not found"):
			e.Message = "it is incomplete: its end is missing"
		}
	}
	return e
}

// copyTo writes the whole recording to a new file.
func copyTo(ctx context.Context, op, path string, src *provider.Source) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return NoSpace(op, err)
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
		return &asr.Error{Op: op, Err: ctx.Err()}
	}
	return NoSpace(op, err)
}

// NoSpace returns the error for temporary files that cannot be written.
func NoSpace(op string, err error) error {
	return &asr.Error{Op: op, Class: asr.ErrUnavailable, Message: "cannot write temporary files", Err: err}
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
