// Package cloud recognises speech with Tencent Cloud.
//
//	recognizer, err := cloud.New(cloud.Config{AppID: appID, SecretID: id, SecretKey: key})
//
// By default it uses the flash interface: the recording is streamed up, and the same request
// returns the text, for up to 100 MB and two hours. [Config].Mode selects the tasks of API 3.0
// instead, which take more formats and continue in the cloud without the client.
//
// # Tasks are paid once
//
// The name of a task is passed to asr.Audio.SaveTask as soon as the cloud has created it, and
// accepted in asr.Audio.Task, so that a program that was restarted waits for the result instead of
// paying again. A program that dies between the creation and SaveTask, or cannot read the answer,
// pays for a second task: the cloud offers neither a key by which a creation can be repeated nor a
// list of tasks. So that this happens once at most, a name without a number is saved before the
// creation. If the second task is lost, too, the recording fails, and a later call without a name
// begins anew. A creation whose connection breaks counts as none: most break during the upload.
//
// # Lost recordings
//
// After a connection was lost while the cloud had a recording, it is asked without audio, which is
// not billed, before the next recording is sent. Without an answer, recordings wait.
//
// # Names
//
// asr.Audio.Words become hot words of the recording: the first 128, at most 2000 bytes, of those
// with at most 30 characters, or 10 if they are not all ASCII.
package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"lessonkit.example/asr"
	"lessonkit.example/asr/internal/ffmpeg"
	"lessonkit.example/asr/provider"
)

const op = "cloud"

// Mode is one of the interfaces of the cloud.
type Mode string

// The interfaces.
const (
	// Flash streams up to 100 MB and 2 hours, and returns the text at once. It requires the AppID.
	// This is the default. A recording that it does not take, and Task does, becomes a task.
	Flash Mode = "flash"
	// Task creates a recording task and waits for it: up to 5 MB.
	Task Mode = "task"
)

// Config configures a Recognizer. SecretID and SecretKey are required, AppID for the flash
// interface.
type Config struct {
	// AppID, SecretID and SecretKey are the account.
	AppID, SecretID, SecretKey string
	// EngineType is the model: language and sample rate. Defaults to "16k_zh". For a recording in
	// another language that has an engine of the same kind, as 16k_en, that one is used instead,
	// unless this is an engine for several languages or of a special kind.
	EngineType string
	// Mode is the interface. Defaults to Flash.
	Mode Mode
	// FFmpeg is the program that converts recordings to WAV before they are sent, except those that
	// the interface takes. If empty, nothing is converted: what browsers without AAC record (WebM)
	// then waits for an operator. The limits are those of what is sent: 100 MB of WAV are 54
	// minutes, 5 MB are 2.
	FFmpeg string
	// RequestTimeout is the longest time for one recording. Defaults to 30 minutes.
	RequestTimeout time.Duration
	// TimeoutFactor and MinTimeout shorten the time for short recordings as those of asr/local do,
	// but not for tasks, which wait in the cloud.
	TimeoutFactor float64
	MinTimeout    time.Duration
	// PollInterval is the first pause between two requests for the status of a task; it grows to
	// eight times as long. Defaults to 2 seconds.
	PollInterval time.Duration
	// Concurrency is the number of recordings sent at once; further calls wait. The limit of the
	// account may be as low as 3. Defaults to 1.
	Concurrency int
	// FlashURL and APIURL replace the addresses of the interfaces, as in tests or by those of a
	// gateway: "http://127.0.0.1:8080".
	FlashURL, APIURL string
	// Logger receives what an operator should know, without audio, text or secrets. If nil, nothing
	// is logged.
	Logger *slog.Logger
}

// languages are those of the engines for one language at 16 kHz.
var languages = []string{
	"zh", "en", "yue", "ja", "ko", "vi", "ms", "id", "fil", "th", "pt", "tr", "ar", "es", "hi", "fr", "de",
}

// engineFor returns the engine for recordings in a language, "" if it is unknown.
func (c Config) engineFor(language string) string {
	language = provider.PrimaryLanguage(language)
	configured, ofOne := strings.CutPrefix(c.EngineType, "16k_")
	if ofOne && slices.Contains(languages, configured) && slices.Contains(languages, language) {
		return "16k_" + language
	}
	return c.EngineType
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// check returns one error for all faults, which contains no secret.
func (c Config) check() error {
	var wrong []string
	need := func(name, value string, pattern *regexp.Regexp) {
		switch {
		case value == "":
			wrong = append(wrong, name+" is missing")
		case !pattern.MatchString(value):
			wrong = append(wrong, name+" contains invalid characters")
		}
	}
	if c.Mode == Flash {
		need("AppID", c.AppID, regexp.MustCompile(`^[0-9]+$`))
	}
	need("SecretID", c.SecretID, plain)
	need("SecretKey", c.SecretKey, regexp.MustCompile(`^[!-~]+$`))
	need("EngineType", c.EngineType, plain)
	if c.Mode != Flash && c.Mode != Task {
		wrong = append(wrong, fmt.Sprintf("Mode is %q; it must be flash or task", c.Mode))
	}
	if len(wrong) > 0 {
		return errors.New("cloud recogniser: " + strings.Join(wrong, "; "))
	}
	return nil
}

// Recognizer is a client of the cloud. It implements [asr.Recognizer] and is safe for concurrent
// use.
type Recognizer struct {
	base      *provider.Base
	cfg       Config
	transport http.RoundTripper
}

var _ asr.Recognizer = (*Recognizer)(nil)

// New checks the configuration. It makes no request and starts nothing.
func New(cfg Config) (*Recognizer, error) {
	cfg.EngineType = cmp.Or(cfg.EngineType, "16k_zh")
	cfg.Mode = cmp.Or(cfg.Mode, Flash)
	cfg.PollInterval = cmp.Or(max(cfg.PollInterval, 0), 2*time.Second)
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.FFmpeg != "" {
		var err error
		if cfg.FFmpeg, err = ffmpeg.Find(op, cfg.FFmpeg); err != nil {
			return nil, err
		}
	}
	base := provider.NewBase(provider.BaseConfig{
		Op: op, Model: cfg.EngineType, Concurrency: cfg.Concurrency,
		Timeout: cfg.RequestTimeout, Factor: cfg.TimeoutFactor, MinTimeout: cfg.MinTimeout,
		Logger: cfg.Logger,
	})
	return &Recognizer{base, cfg, provider.NewTransport(http.ProxyFromEnvironment)}, nil
}

// Status returns what recent recordings have shown; a configured account is presumed to work, since
// every request costs. See [asr.Recognizer].
func (r *Recognizer) Status(ctx context.Context) asr.Status { return r.base.Status(ctx) }

var errTimeout = errors.New("request timeout")

// Recognize sends the recording and returns the transcript. See [asr.Recognizer].
func (r *Recognizer) Recognize(ctx context.Context, audio asr.Audio) (asr.Transcript, error) {
	t, err := r.base.Recognize(ctx, audio, func(ctx context.Context) (asr.Transcript, error) {
		return r.recognize(ctx, audio)
	})
	if errors.Is(err, asr.ErrMisconfigured) || errors.Is(err, asr.ErrRefused) {
		r.base.Log().ErrorContext(ctx, "recordings wait; an operator must act", "error", err)
	}
	return t, err
}

func (r *Recognizer) recognize(ctx context.Context, audio asr.Audio) (asr.Transcript, error) {
	var running *cloudTask
	if t, ok := parseTask(audio.Task); ok && time.Since(t.created) < taskLifetime {
		running = &t
	}
	src, err := r.open(ctx, audio, running == nil || running.id == 0)
	if err != nil {
		return asr.Transcript{}, err
	}
	defer src.Close()
	t, err := r.send(ctx, src, audio, running)
	if err != nil {
		return asr.Transcript{}, err
	}
	t.Model = r.cfg.engineFor(audio.Language)
	if _, language, _ := strings.Cut(t.Model, "_"); slices.Contains(languages, language) {
		t.Language = language // an engine for several languages does not say which it heard
	}
	t.Duration = cmp.Or(t.Duration, src.Info.Duration)
	t.HeaderDuration = src.Info.Measured(t.Duration).Header
	return t, nil
}

// open opens the recording. If it will be sent, it is converted unless the interface takes it.
func (r *Recognizer) open(ctx context.Context, audio asr.Audio, send bool) (*provider.Source, error) {
	src, err := provider.Open(op, audio)
	if err != nil || !send || r.takes(src.Info, src.Size) {
		return src, err
	}
	return ffmpeg.Source(ctx, op, r.cfg.FFmpeg, src, r.base.Timeout())
}

// send selects the interface and limits the time. A task that exists is continued in every mode.
func (r *Recognizer) send(
	ctx context.Context, src *provider.Source, audio asr.Audio, running *cloudTask,
) (asr.Transcript, error) {
	mode, limit := r.choose(src.Info, src.Size), r.base.TimeLimit(src.Info.Duration)
	if running != nil {
		mode = Task
	}
	if mode == Task {
		limit = r.base.Timeout()
	}
	work, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	var t asr.Transcript
	var err error
	if mode == Task {
		t, err = r.task(work, src, audio, running)
	} else {
		t, err = r.flash(work, src, audio)
	}
	if err != nil && ctx.Err() == nil && context.Cause(work) == errTimeout {
		e := &asr.Error{
			Op: op, Class: asr.ErrLost, Err: context.DeadlineExceeded,
			Message: fmt.Sprintf("no result within %v", limit),
		}
		if mode == Task { // it continues in the cloud; the next call waits for its result
			e.Class, e.After = asr.ErrUnavailable, 30*time.Second
		}
		t, err = asr.Transcript{}, e
	}
	if ctx.Err() == nil && errors.Is(err, asr.ErrLost) {
		r.base.Lost(func(ctx context.Context) error { return r.answers(ctx, mode) })
	}
	return t, err
}
