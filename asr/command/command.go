// Package command recognises speech with a program on this machine, run once for each recording: PocketSphinx,
// whisper-cli or any other that reads a WAV file and prints text.
//
//	rec, err := command.New(command.PocketSphinx())
//
// Every recording is first looked at, then converted by ffmpeg to what these programs read reliably: WAV, 16 kHz, one
// channel, 16 bit. Programs are started from an argument list, never through a shell, in a directory of their own
// that is removed afterwards; when the program is done or the caller goes away, all that it started is ended.
//
// Exported names stay; fields of Config may be added.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"lessonkit.example/asr"
	"lessonkit.example/asr/internal/source"
)

// Config says which program to run, and how. Only Args is needed; [PocketSphinx] and [Whisper] return whole ones.
type Config struct {
	// Args is the program and its arguments. In each, {input} is replaced by the WAV file's path, {language} by the recording's language
	// (or "auto"), {dir} by the recording's own directory and {log} by a file in it, of which the last lines
	// explain a failure. {input} must be there.
	Args []string
	// Parse reads the program's standard output, line by line. Defaults to Lines.
	Parse Parser
	// Model is a name for the model, for the transcript and the status. Defaults to the program's base name.
	Model string
	// Needs are files that must exist beside the programs, such as a model.
	Needs []string
	// Packages are the Debian packages that hold the program, for the message when it is missing.
	Packages []string
	// FFmpeg is the converter. Defaults to "ffmpeg".
	FFmpeg string
	// Concurrency is how many recordings are recognised at once; further calls wait. Defaults to 1.
	Concurrency int
	// Timeout bounds one recording. Defaults to 30 minutes.
	Timeout time.Duration
	// MaxDuration is the longest recording that is taken. Defaults to 4 hours.
	MaxDuration time.Duration
	// Dir is where the recordings' own directories are made. Defaults to the system's directory for temporary files.
	Dir string
	// Logger gets what an operator should know; no audio or text. If nil, nothing is logged.
	Logger *slog.Logger
}

func (c Config) timeout() time.Duration     { return cmp.Or(max(c.Timeout, 0), 30*time.Minute) }
func (c Config) maxDuration() time.Duration { return cmp.Or(max(c.MaxDuration, 0), 4*time.Hour) }

// PocketSphinx runs pocketsphinx_continuous with its stock English model: clear speech, no GPU, no download beyond Debian's own packages.
func PocketSphinx() Config {
	return Config{
		Args:     []string{"pocketsphinx_continuous", "-infile", "{input}", "-time", "yes", "-logfn", "{log}"},
		Parse:    TimedWords,
		Model:    "pocketsphinx-en-us",
		Packages: []string{"pocketsphinx", "pocketsphinx-en-us"},
	}
}

// Whisper runs whisper.cpp's whisper-cli with the model in a file (ggml-base.bin and the like).
func Whisper(model string) Config {
	return Config{
		Args:  []string{"whisper-cli", "-m", model, "-f", "{input}", "-l", "{language}", "-np"},
		Parse: TimedLines,
		Model: strings.TrimSuffix(filepath.Base(model), filepath.Ext(model)),
		Needs: []string{model},
	}
}

// MissingError tells which programs and files are not there.
type MissingError struct {
	// Programs and Files are what was looked for and not found.
	Programs, Files []string
	// Packages are the Debian packages that hold the programs.
	Packages []string
}

// Error says what is missing and how to install it.
func (e *MissingError) Error() string {
	text := "missing for speech recognition: " + strings.Join(append(append([]string{}, e.Programs...), e.Files...), ", ")
	if len(e.Packages) > 0 {
		text += "; on Debian: apt-get install --no-install-recommends " + strings.Join(e.Packages, " ")
	}
	return text
}

// Recognizer runs the program. It implements [asr.Recognizer].
type Recognizer struct {
	cfg     Config
	program string // paths
	ffmpeg  string
	slots   chan struct{}
	log     *slog.Logger

	mu     sync.Mutex
	status asr.Status
}

var _ asr.Recognizer = (*Recognizer)(nil)

// New finds the programs. When some are not there, the error is a *MissingError that names all of them. It starts nothing.
func New(cfg Config) (*Recognizer, error) {
	if len(cfg.Args) == 0 || !strings.Contains(strings.Join(cfg.Args[1:], "\x00"), "{input}") {
		return nil, errors.New(`recogniser command: the arguments must name the program and hold {input}, as in ["pocketsphinx_continuous", "-infile", "{input}"]`)
	}
	if cfg.Parse == nil {
		cfg.Parse = Lines
	}
	cfg.FFmpeg = cmp.Or(cfg.FFmpeg, "ffmpeg")
	cfg.Model = cmp.Or(cfg.Model, filepath.Base(cfg.Args[0]))
	r := &Recognizer{cfg: cfg, slots: make(chan struct{}, max(cfg.Concurrency, 1)), log: cfg.Logger}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	missing := &MissingError{}
	var err error
	if r.program, err = exec.LookPath(cfg.Args[0]); err != nil {
		missing.Programs = append(missing.Programs, cfg.Args[0])
		missing.Packages = append(missing.Packages, cfg.Packages...)
	}
	if r.ffmpeg, err = exec.LookPath(cfg.FFmpeg); err != nil {
		missing.Programs = append(missing.Programs, cfg.FFmpeg)
		missing.Packages = append(missing.Packages, "ffmpeg")
	}
	for _, file := range cfg.Needs {
		if _, err := os.Stat(file); err != nil {
			missing.Files = append(missing.Files, file)
		}
	}
	if len(missing.Programs)+len(missing.Files) > 0 {
		return nil, missing
	}
	r.status = asr.Status{Available: true, Provider: "command", Model: cfg.Model, CheckedAt: now()}
	return r, nil
}

func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// Status tells that the programs are there, or why the last recording showed otherwise. See [asr.Recognizer].
func (r *Recognizer) Status(context.Context) asr.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// Recognize converts the recording and runs the program on it. See [asr.Recognizer].
func (r *Recognizer) Recognize(ctx context.Context, audio asr.Audio) (asr.Transcript, error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return asr.Transcript{}, source.Interrupted(ctx, "command")
	}
	work, cancel := context.WithTimeout(ctx, r.cfg.timeout())
	defer cancel()
	t, err := r.recognize(work, audio)
	switch {
	case ctx.Err() != nil:
		return asr.Transcript{}, source.Interrupted(ctx, "command")
	case err != nil && work.Err() != nil:
		// The program is on this machine and had it all: the recording may be what it stumbles over.
		err = &asr.Error{Op: "command", Message: fmt.Sprintf("not done within %v", r.cfg.timeout()), Err: context.DeadlineExceeded}
	}
	r.seen(err)
	return t, err
}

// seen keeps what a recording has shown about the programs.
func (r *Recognizer) seen(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, _ := errors.AsType[*asr.Error](err)
	switch {
	case e != nil && e.Class == asr.ErrUnusableAudio:
		return
	case e != nil && e.Class != nil:
		r.status.Available, r.status.Reason = false, e.Message
	case err == nil:
		r.status.Available, r.status.Reason = true, ""
	}
	r.status.CheckedAt = now()
}

func (r *Recognizer) recognize(ctx context.Context, audio asr.Audio) (asr.Transcript, error) {
	dir, err := os.MkdirTemp(r.cfg.Dir, "asr-")
	if err != nil {
		return asr.Transcript{}, &asr.Error{Op: "command", Class: asr.ErrUnavailable, Message: "no room for temporary files", Err: err}
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			r.log.WarnContext(ctx, "remove temporary files", "error", err)
		}
	}()
	wav := filepath.Join(dir, "audio.wav")
	length, err := r.convert(ctx, audio, dir, wav)
	if err != nil {
		return asr.Transcript{}, err
	}
	t, err := r.run(ctx, audio, dir, wav)
	if err != nil {
		return asr.Transcript{}, err
	}
	t.Text = asr.JoinText(t.Text)
	if t.Text == "" {
		t.Text = asr.JoinSegments(t.Segments)
	}
	t.Duration, t.Model = length, r.cfg.Model
	if t.Language == "" {
		t.Language = audio.Language
	}
	return t, nil
}
