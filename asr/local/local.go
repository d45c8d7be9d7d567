// Package local is a client for self-hosted speech recognition servers: whisper.cpp, speaches
// (faster-whisper-server), vLLM, LocalAI, the servers of FunASR, and any other that implements
// OpenAI's transcription endpoint or the one of whisper.cpp.
//
//	recognizer, err := local.New(local.Config{URL: "http://127.0.0.1:8080", Segments: true})
//
// A URL is enough: [New] takes it, and the [Recognizer] determines the path, the form and the model
// when it is first used. [Recognizer.Run] keeps [Recognizer.Status] current in the background.
//
// # URL
//
// "http://127.0.0.1:8080" is a base: /v1/audio/transcriptions, /inference and /recognition are
// tried below it. A path that ends in /transcriptions, /inference or /recognition is used as it is.
// The query holds additional form fields: "?model=large-v3&language=zh&prompt=…". The words of a
// recording follow that prompt.
// "http://:KEY@host" sends KEY as a bearer token, "http://user:password@host" uses basic
// authentication.
//
// # Network
//
// Requests have a Content-Length and are never chunked. Redirects are not followed. Addresses of
// this machine and of the local network are reached directly, others through the proxy that the
// environment names.
package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"lessonkit.example/asr"
	"lessonkit.example/asr/audiofile"
	"lessonkit.example/asr/internal/ffmpeg"
	"lessonkit.example/asr/provider"
)

const op = "local"

// Config configures a Recognizer. URL is required.
type Config struct {
	// URL is the address of the server; see the package documentation.
	URL string
	// Model is the model to request. It overrides the one in URL. Defaults to the first that the
	// server lists as ready, for speech recognition, or with whisper in its name, unless the first
	// of all has the name of another recogniser, else to that first one, else to "whisper-1".
	Model string
	// APIKey is sent as a bearer token. It overrides the one in URL. Defaults to none.
	APIKey string
	// FFmpeg is the program that converts recordings to WAV before they are sent, except those that
	// every server reads (wav, mp3, flac). If empty, nothing is converted. It is for servers such
	// as whisper.cpp without its option --convert.
	FFmpeg string
	// Segments requests segments and words with times, which costs some servers a second pass. If a
	// server fails with them, the recording is sent again for segments alone, and then for the text
	// only, as are those of the next ten minutes, or of a day if the server has no segments or
	// answers as vLLM, which leaves out text then. Defaults to text only.
	Segments bool
	// RequestTimeout is the longest time for one recording: conversion, sending, recognition and
	// answer, also if it is sent again. Defaults to 30 minutes.
	RequestTimeout time.Duration
	// TimeoutFactor and MinTimeout shorten the time for short recordings: it is TimeoutFactor times
	// the duration of the recording, at least MinTimeout and at most RequestTimeout. A recording of
	// unknown duration gets RequestTimeout. Default to 10 and to 5 minutes.
	TimeoutFactor float64
	MinTimeout    time.Duration
	// Concurrency is the number of recordings sent at once; further calls wait. Servers on one
	// machine gain little from more than one, and whisper.cpp must not get more than 8. Defaults
	// to 1.
	Concurrency int
	// Transport sends the requests. Defaults to [NewTransport].
	Transport http.RoundTripper
	// Logger receives what an operator should know, without audio, text or secrets. If nil, nothing
	// is logged.
	Logger *slog.Logger
}

// NewTransport returns the default of Config.Transport, with the properties that the package
// documentation describes, for programs that observe the requests.
func NewTransport() http.RoundTripper { return provider.NewTransport(proxy) }

// Recognizer is a client of one server. It implements [asr.Recognizer] and is safe for concurrent
// use.
type Recognizer struct {
	cfg     Config
	target  target
	base    *provider.Base
	log     *slog.Logger
	server  server
	health  health
	running atomic.Int64 // recordings
}

var _ asr.Recognizer = (*Recognizer)(nil)

// New checks the configuration. It makes no request and starts nothing.
func New(cfg Config) (*Recognizer, error) {
	t, err := parseTarget(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.FFmpeg != "" {
		if cfg.FFmpeg, err = ffmpeg.Find(op, cfg.FFmpeg); err != nil {
			return nil, err
		}
	}
	if cfg.Transport == nil {
		cfg.Transport = NewTransport()
	}
	r := &Recognizer{cfg: cfg, target: t}
	r.base = provider.NewBase(provider.BaseConfig{
		Op: op, Concurrency: cfg.Concurrency,
		Timeout: cfg.RequestTimeout, Factor: cfg.TimeoutFactor, MinTimeout: cfg.MinTimeout,
		Ended: r.ended, Logger: cfg.Logger,
	})
	r.log = r.base.Log()
	r.health.status = asr.Status{Provider: "local", Model: t.model, Reason: "not checked yet"}
	return r, nil
}

// Recognize sends the recording and returns the transcript. See [asr.Recognizer].
func (r *Recognizer) Recognize(ctx context.Context, audio asr.Audio) (asr.Transcript, error) {
	return r.base.Recognize(ctx, audio, func(ctx context.Context) (asr.Transcript, error) {
		r.running.Add(1)
		defer r.running.Add(-1)
		return r.recognize(ctx, audio)
	})
}

var errTimeout = errors.New("request timeout")

// recognize tries again, at once, where the answer shows that the server has changed or has the
// endpoint elsewhere.
func (r *Recognizer) recognize(ctx context.Context, audio asr.Audio) (asr.Transcript, error) {
	started := time.Now()
	ctx, cancel := context.WithDeadlineCause(ctx, started.Add(r.base.Timeout()), errTimeout)
	defer cancel()
	t, asked, err := r.attempt(ctx, started, audio)
	for tries := 1; err != nil && ctx.Err() == nil && tries < maxTries && r.forget(ctx, err, asked); tries++ {
		r.log.DebugContext(ctx, "discovering the recogniser again", "error", err)
		t, asked, err = r.attempt(ctx, started, audio)
	}
	r.learnTimes(asked.times, err)
	return t, err
}

// maxTries limits the requests for one recording: one for each possible endpoint, one more for
// another model or form, and one without the times of words.
const maxTries = 5

// asked is where a recording was sent, and what was requested.
type asked struct {
	endpoint
	model string
	times times
}

// attempt sends the recording once. Its time limit counts from started.
func (r *Recognizer) attempt(
	ctx context.Context, started time.Time, audio asr.Audio,
) (t asr.Transcript, to asked, err error) {
	src, err := r.open(ctx, audio)
	if err != nil {
		return t, to, err
	}
	defer src.Close()
	limit := r.base.TimeLimit(src.Info.Duration)
	work, cancel := context.WithDeadlineCause(ctx, started.Add(limit), errTimeout)
	defer cancel()
	to.endpoint, err = r.endpoint(work)
	if err == nil {
		to.model, err = r.model(work, to.endpoint, r.language(audio))
	}
	if err == nil {
		if !to.fileOnly {
			to.times = r.requestTimes()
		}
		t, err = r.send(work, src, to, audio)
	}
	e, _ := errors.AsType[*asr.Error](err)
	switch {
	case err == nil:
		r.remember(ctx, to.endpoint)
		return t, to, nil
	case context.Cause(work) == errTimeout && e != nil:
		e.Message, e.Err = fmt.Sprintf("no answer within %v", limit), context.DeadlineExceeded
	}
	return asr.Transcript{}, to, err
}

// open opens the recording, converted if that is configured and necessary.
func (r *Recognizer) open(ctx context.Context, audio asr.Audio) (*provider.Source, error) {
	src, err := provider.Open(op, audio)
	if err != nil || decodedByAll(src.Info.Format) {
		return src, err
	}
	return ffmpeg.Source(ctx, op, r.cfg.FFmpeg, src, r.base.Timeout())
}

// decodedByAll reports whether every server decodes the format.
func decodedByAll(f audiofile.Format) bool {
	return f == audiofile.WAV || f == audiofile.MP3 || f == audiofile.FLAC
}

// maxAnswer limits an answer. Verbose JSON of many hours of speech is shorter.
const maxAnswer = 8 << 20

// send makes one request. Its errors are of type *asr.Error.
func (r *Recognizer) send(
	ctx context.Context, src *provider.Source, to asked, audio asr.Audio,
) (asr.Transcript, error) {
	req, err := newRequest(ctx, to.endpoint, r.fields(to, audio), src)
	if err != nil {
		return asr.Transcript{}, &asr.Error{Op: op, Message: "make request", Err: err}
	}
	r.target.authorize(req)
	resp, err := provider.Do(op, r.cfg.Transport, req)
	if err != nil {
		return asr.Transcript{}, err
	}
	defer resp.Body.Close()
	body, err := provider.ReadBody(resp.Body, maxAnswer)
	switch {
	case resp.StatusCode != http.StatusOK:
		e := refusal(resp, r.hide(body), to, audio)
		if e.Class == asr.ErrUnusableAudio && !to.openAI && !decodedByAll(src.Info.Format) && vague(e.Message) {
			e.Class = asr.ErrMisconfigured
			e.Message = fmt.Sprintf("whisper.cpp does not decode %s by itself: start it with --convert "+
				"(it needs ffmpeg), or let recordings be converted before they are sent", src.Info.Format)
		}
		return asr.Transcript{}, e
	case err != nil:
		return asr.Transcript{}, &asr.Error{Op: op, Status: resp.StatusCode, Message: "incomplete answer", Err: err}
	}
	t, err := parseAnswer(body, audio)
	if err != nil {
		if _, hidden := parseAnswer(r.hide(body), audio); hidden != nil {
			err = hidden
		}
		r.log.WarnContext(ctx, "unexpected answer", "error", err)
		return asr.Transcript{}, err
	}
	if to.times > noTimes && len(t.Words) == 0 && durationOfVLLM.Match(body) {
		return asr.Transcript{}, &asr.Error{
			Op: op, Status: resp.StatusCode, Message: "the answer may lack text, as those of vLLM do", Err: errNoTimes,
		}
	}
	// One server reports its processing time as "duration", so that field is not used.
	t.Model, t.Duration, t.HeaderDuration = to.model, src.Info.Duration, src.Info.Header
	if to.fileOnly {
		return t, nil // no prompt was sent
	}
	return provider.DropEcho(t, r.prompt(audio), audio.Words), nil
}
