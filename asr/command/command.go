// Package command recognises speech with a program on this machine, which runs once for each
// recording: PocketSphinx, whisper-cli, or any other that reads a WAV file and prints text.
//
//	rec, err := command.New(command.PocketSphinx())
//
// ffmpeg first converts every recording to a format that these programs read reliably: WAV, 16 kHz,
// one channel, 16 bit. Programs run without a shell, in a temporary directory per recording. When
// the program ends or ctx is canceled, all processes that it has started are killed.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lessonkit.example/asr"
	"lessonkit.example/asr/internal/ffmpeg"
	"lessonkit.example/asr/internal/process"
	"lessonkit.example/asr/provider"
	"lessonkit.example/internal/tempdir"
)

// Config selects the program to run. Only Args is required; [PocketSphinx] and [Whisper] return
// complete configurations.
type Config struct {
	// Args is the program and its arguments. In each argument, {input} is replaced by the path of
	// the WAV file, {language} by the language of the recording (or "auto"), {prompt} by
	// Audio.Prompt and Audio.Words, and {dir} by the temporary directory. {input} is required. The
	// program runs in {dir}: paths of other files must be absolute. What it prints to standard
	// error explains a failure.
	Args []string
	// Parse is called with each line of the standard output of the program, after it has ended.
	// Defaults to Lines.
	Parse Parser
	// Model is the name of the model in transcripts and in the status. Defaults to the base name of
	// the program.
	Model     string
	modelFile string   // must exist
	packages  []string // Debian packages that contain the program
	// FFmpeg is the converter. Defaults to "ffmpeg".
	FFmpeg string
	// Concurrency is the number of recordings recognised at once; further calls wait. Defaults to
	// 1.
	Concurrency int
	// Timeout is the longest time for one recording. Defaults to 25 minutes. The time for a
	// recording is 8 times its duration, at least 4 minutes and at most Timeout. These times are
	// shorter than those of asr/local, so that a client of a server learns the reason.
	Timeout time.Duration
	// Dir is the parent of the temporary directories: see package asr. Defaults to os.TempDir.
	Dir string
	// Logger receives what an operator should know, without audio or text. If nil, nothing is
	// logged.
	Logger *slog.Logger
}

// maxDuration is the longest recording that is accepted.
const maxDuration = 4 * time.Hour

// PocketSphinx configures pocketsphinx_continuous with its standard English model. It is for clear
// speech, and requires no GPU and no downloads except Debian packages.
func PocketSphinx() Config {
	return Config{
		Args:     []string{"pocketsphinx_continuous", "-infile", "{input}", "-time", "yes"},
		Parse:    Timed,
		Model:    "pocketsphinx-en-us",
		packages: []string{"pocketsphinx", "pocketsphinx-en-us"},
	}
}

// Whisper configures whisper-cli of whisper.cpp with the model in a file such as ggml-base.bin.
func Whisper(model string) Config {
	if path, err := filepath.Abs(model); err == nil {
		model = path // whisper-cli runs in another directory
	}
	return Config{
		Args: []string{
			"whisper-cli", "-m", model, "-f", "{input}", "-l", "{language}", "--prompt", "{prompt}", "-np",
		},
		Parse:     Timed,
		Model:     strings.TrimSuffix(filepath.Base(model), filepath.Ext(model)),
		modelFile: model,
	}
}

// Recognizer runs the program. It implements [asr.Recognizer] and is safe for concurrent use.
type Recognizer struct {
	cfg     Config
	program string // paths
	ffmpeg  string
	base    *provider.Base
}

var _ asr.Recognizer = (*Recognizer)(nil)

// tempPrefix is the beginning of the names of temporary directories.
const tempPrefix = "lessonkit-asr-"

// New finds the programs, and deletes recordings that a killed process has left in cfg.Dir. If some
// programs do not exist, the error names all of them. It starts nothing.
func New(cfg Config) (*Recognizer, error) {
	if len(cfg.Args) == 0 || !strings.Contains(strings.Join(cfg.Args[1:], "\x00"), "{input}") {
		return nil, errors.New(`recogniser command: the arguments must be a program and its arguments with {input}, ` +
			`as in ["pocketsphinx_continuous", "-infile", "{input}"]`)
	}
	if cfg.Parse == nil {
		cfg.Parse = Lines
	}
	cfg.FFmpeg = cmp.Or(cfg.FFmpeg, "ffmpeg")
	cfg.Model = cmp.Or(cfg.Model, filepath.Base(cfg.Args[0]))
	r := &Recognizer{cfg: cfg, base: provider.NewBase(provider.BaseConfig{
		Op: "command", Model: cfg.Model, Concurrency: cfg.Concurrency,
		Timeout: cmp.Or(max(cfg.Timeout, 0), LongestTime), Factor: 8, MinTimeout: 4 * time.Minute,
		UnavailableFor: unavailableFor, Logger: cfg.Logger,
	})}
	var missing, packages []string
	var err error
	if r.program, err = process.Find(cfg.Args[0]); err != nil {
		missing, packages = append(missing, cfg.Args[0]), append(packages, cfg.packages...)
	}
	if r.ffmpeg, err = process.Find(cfg.FFmpeg); err != nil {
		missing, packages = append(missing, cfg.FFmpeg), append(packages, "ffmpeg")
	}
	if info, err := os.Stat(cfg.modelFile); cfg.modelFile != "" && (err != nil || info.IsDir()) {
		missing = append(missing, cfg.modelFile)
	}
	if len(missing) > 0 {
		text := "missing for speech recognition: " + strings.Join(missing, ", ")
		if len(packages) > 0 {
			text += "; on Debian: apt-get install --no-install-recommends " + strings.Join(packages, " ")
		}
		return nil, errors.New(text)
	}
	tempdir.Sweep(cfg.Dir, tempPrefix)
	return r, nil
}

// LongestTime is the default of Config.Timeout.
const LongestTime = 25 * time.Minute

// unavailableFor is how long a failure makes the programs unavailable: longer than recordings wait
// for an operator by default. A client of a server with this status may send nothing until it is
// available, so only time can show that it is worth a try.
const unavailableFor = 2 * time.Minute

// Status returns what recent recordings have shown about the programs. See [asr.Recognizer].
func (r *Recognizer) Status(ctx context.Context) asr.Status { return r.base.Status(ctx) }

// Recognize converts the recording and runs the program on it. See [asr.Recognizer].
func (r *Recognizer) Recognize(ctx context.Context, audio asr.Audio) (asr.Transcript, error) {
	return r.base.Recognize(ctx, audio, func(ctx context.Context) (asr.Transcript, error) {
		return r.recognize(ctx, audio)
	})
}

func (r *Recognizer) recognize(ctx context.Context, audio asr.Audio) (asr.Transcript, error) {
	temporary, err := tempdir.New(r.cfg.Dir, tempPrefix)
	if err != nil {
		return asr.Transcript{}, ffmpeg.NoSpace("command", err)
	}
	defer func() {
		if err := temporary.Remove(); err != nil {
			r.base.Log().WarnContext(ctx, "remove temporary files", "error", err)
		}
	}()
	dir := temporary.Path
	wav := filepath.Join(dir, "audio.wav")
	work, cancel := context.WithTimeout(ctx, r.base.Timeout())
	defer cancel()
	src, err := provider.Open("command", audio)
	if err != nil {
		return asr.Transcript{}, err
	}
	defer src.Close()
	info, err := ffmpeg.Convert(work, "command", r.ffmpeg, src, dir, wav, maxDuration)
	if err != nil {
		return asr.Transcript{}, tooLong(work, err, r.base.Timeout())
	}
	limit := r.base.TimeLimit(info.Duration)
	work, cancel = context.WithTimeout(work, limit)
	defer cancel()
	t, err := r.run(work, audio, dir, wav, info.Duration)
	if err != nil {
		return asr.Transcript{}, tooLong(work, err, limit)
	}
	t.Duration, t.HeaderDuration, t.Model = info.Duration, info.Header, r.cfg.Model
	t.Language = cmp.Or(t.Language, audio.Language)
	return t, nil
}

// tooLong returns err, or what it means after the time limit. The program had the whole recording,
// which may be what makes it hang.
func tooLong(ctx context.Context, err error, limit time.Duration) error {
	if ctx.Err() == nil {
		return err
	}
	return &asr.Error{
		Op: "command", Message: fmt.Sprintf("no result within %v", limit), Err: context.DeadlineExceeded,
	}
}
