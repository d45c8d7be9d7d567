// Package cloud recognises speech with Tencent Cloud.
//
// By default it uses the flash interface: the recording is streamed up and the text comes back in the same answer, up to
// 100 MB and two hours. Two interfaces of API 3.0 can be chosen by [Config].Mode, or left to the size and the length of each recording: short
// sentences in one call, and tasks, which take more formats and go on in the cloud while nobody waits.
//
// # Tasks are paid once
//
// A task's name is given to asr.Audio.SaveTask as soon as the cloud has it, and taken back in asr.Audio.Task, so that a program that
// was restarted waits for the result instead of paying again.
//
// # Errors
//
// The cloud's error codes become the classes of package asr. An account without credit or service is [asr.ErrRefused], wrong
// keys and settings are [asr.ErrMisconfigured]: recordings wait until an operator has acted.
//
// Exported names stay; fields of Config may be added.
package cloud

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"lessonkit.example/asr"
	"lessonkit.example/asr/internal/source"
)

// Mode is one of the cloud's interfaces.
type Mode string

// The interfaces.
const (
	// Flash streams up to 100 MB and 2 hours, and answers at once. It needs the AppID. This is the default.
	Flash Mode = "flash"
	// Task creates a recording task and waits for it: up to 5 MB.
	Task Mode = "task"
	// Sentence takes up to 60 seconds and 3 MB (in base64) in one call.
	Sentence Mode = "sentence"
	// Auto chooses for each recording by its format, size and length: Sentence for what is known to be short, Flash for what it takes, else Task.
	Auto Mode = "auto"
)

// Config is the account and the way to use it. SecretID and SecretKey are needed, AppID for the flash interface.
type Config struct {
	// AppID, SecretID and SecretKey are the account.
	AppID, SecretID, SecretKey string
	// EngineType is the model: language and sample rate. Defaults to "16k_zh".
	EngineType string
	// Mode is the interface. Defaults to Flash.
	Mode Mode
	// Options are further parameters of the flash interface, such as hotword_id or filter_dirty.
	Options map[string]string
	// RequestTimeout bounds one recording. Defaults to 30 minutes.
	RequestTimeout time.Duration
	// PollInterval is the first pause between two questions for a task; it grows to eight times as long. Defaults to 2 seconds.
	PollInterval time.Duration
	// Concurrency is how many recordings are sent at once; further calls wait. The account's own limit may be as low as 3. Defaults to 1.
	Concurrency int
	// FlashURL and APIURL replace the addresses of the interfaces, for tests: "http://127.0.0.1:8080".
	FlashURL, APIURL string
	// Transport sends the requests. Defaults to one of the Recognizer's own.
	Transport http.RoundTripper
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Logger gets what an operator should know; no audio, text or secret. If nil, nothing is logged.
	Logger *slog.Logger
}

func (c Config) engine() string {
	if c.EngineType != "" {
		return c.EngineType
	}
	return "16k_zh"
}

func (c Config) mode() Mode {
	if c.Mode != "" {
		return c.Mode
	}
	return Flash
}

func (c Config) requestTimeout() time.Duration {
	if c.RequestTimeout > 0 {
		return c.RequestTimeout
	}
	return 30 * time.Minute
}

func (c Config) pollInterval() time.Duration {
	if c.PollInterval > 0 {
		return c.PollInterval
	}
	return 2 * time.Second
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// check finds everything that is wrong at once, and repeats no secret.
func (c Config) check() error {
	var wrong []string
	need := func(name, value string, pattern *regexp.Regexp) {
		switch {
		case value == "":
			wrong = append(wrong, name+" is missing")
		case !pattern.MatchString(value):
			wrong = append(wrong, name+" holds characters that none has")
		}
	}
	if m := c.mode(); m == Flash || m == Auto && c.AppID != "" {
		need("AppID", c.AppID, regexp.MustCompile(`^[0-9]+$`))
	}
	need("SecretID", c.SecretID, plain)
	need("SecretKey", c.SecretKey, regexp.MustCompile(`^[!-~]+$`))
	need("EngineType", c.engine(), plain)
	switch c.mode() {
	case Flash, Task, Sentence, Auto:
	default:
		wrong = append(wrong, fmt.Sprintf("Mode is %q; it must be flash, task, sentence or auto", c.Mode))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Options)) {
		switch name {
		case "secretid", "timestamp", "engine_type", "voice_format", "appid":
			wrong = append(wrong, "Options sets "+name+", which the client sets itself")
		}
	}
	for _, f := range []struct{ name, value string }{{"FlashURL", c.FlashURL}, {"APIURL", c.APIURL}} {
		if u, err := url.Parse(f.value); f.value != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
			wrong = append(wrong, f.name+" is no address such as http://127.0.0.1:8080")
		}
	}
	if len(wrong) > 0 {
		return errors.New("cloud recogniser: " + strings.Join(wrong, "; "))
	}
	return nil
}

// Recognizer is a client of the cloud. It implements [asr.Recognizer].
type Recognizer struct {
	cfg    Config
	client *http.Client
	slots  chan struct{}
	now    func() time.Time
	log    *slog.Logger

	mu     sync.Mutex
	status asr.Status
}

var _ asr.Recognizer = (*Recognizer)(nil)

// New checks the configuration. It makes no request and starts nothing.
func New(cfg Config) (*Recognizer, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	r := &Recognizer{cfg: cfg, slots: make(chan struct{}, max(cfg.Concurrency, 1)), now: cfg.Now, log: cfg.Logger}
	if r.now == nil {
		r.now = time.Now
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	transport := cfg.Transport
	if transport == nil {
		dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
		transport = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           source.DialContext(dialer),
			TLSHandshakeTimeout:   10 * time.Second,
			ResponseHeaderTimeout: cfg.requestTimeout(),
			MaxIdleConnsPerHost:   max(cfg.Concurrency, 1),
			IdleConnTimeout:       30 * time.Second,
		}
	}
	r.client = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	r.status = asr.Status{Available: true, Provider: "cloud", Model: cfg.engine(), CheckedAt: r.clock()}
	return r, nil
}

func (r *Recognizer) clock() time.Time { return r.now().UTC().Truncate(time.Microsecond) }

// doubt is how long a failure speaks against the cloud. It is never asked just to see whether it answers, for that would cost.
const doubt = 10 * time.Minute

// Status tells what recordings have shown lately; a configured account is taken to work. See [asr.Recognizer].
func (r *Recognizer) Status(context.Context) asr.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.status
	if !s.Available && r.now().Sub(s.CheckedAt) > doubt {
		s.Available = true
		s.Reason = "not tried since: " + s.Reason
	}
	return s
}

// seen keeps what a recording has shown.
func (r *Recognizer) seen(err error) {
	e, _ := errors.AsType[*asr.Error](err)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.status.Available, r.status.Reason = true, ""
	case e == nil || e.Class == nil || e.Class == asr.ErrUnusableAudio:
		return
	case e.Class == asr.ErrUnavailable && (e.Status != 0 || e.Code != ""):
		return // it is there, and busy
	default:
		r.status.Available, r.status.Reason = false, e.Message
		if e.Code != "" {
			r.status.Reason += " (code " + e.Code + ")"
		}
	}
	r.status.CheckedAt = r.clock()
}

// Recognize sends the recording and returns what the cloud heard. See [asr.Recognizer].
func (r *Recognizer) Recognize(ctx context.Context, audio asr.Audio) (asr.Transcript, error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return asr.Transcript{}, source.Interrupted(ctx, "cloud")
	}
	work, cancel := context.WithTimeout(ctx, r.cfg.requestTimeout())
	defer cancel()
	t, err := r.recognize(work, audio)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return asr.Transcript{}, source.Interrupted(ctx, "cloud")
	case work.Err() != nil:
		err = &asr.Error{
			Op: "cloud", Class: asr.ErrUnavailable, Err: context.DeadlineExceeded,
			Message: fmt.Sprintf("no result within %v", r.cfg.requestTimeout()),
			After:   max(30*time.Second, source.Duration(audio)),
		}
	}
	r.seen(err)
	if err != nil {
		if e, ok := errors.AsType[*asr.Error](err); ok && (e.Class == asr.ErrMisconfigured || e.Class == asr.ErrRefused) {
			r.log.ErrorContext(ctx, "the cloud refuses; an operator must act", "error", err)
		}
		return asr.Transcript{}, err
	}
	t.Model = r.cfg.engine()
	if _, language, ok := strings.Cut(t.Model, "_"); ok && t.Language == "" {
		t.Language = language
	}
	if t.Duration == 0 {
		t.Duration = source.Duration(audio)
	}
	return t, nil
}

// recognize chooses the interface. A task that was begun goes on, whatever the mode is now.
func (r *Recognizer) recognize(ctx context.Context, audio asr.Audio) (asr.Transcript, error) {
	src, err := source.Open("cloud", audio)
	if err != nil {
		return asr.Transcript{}, err
	}
	defer src.Close()
	if task, ok := parseTask(audio.Task); ok && r.clock().Sub(task.created) < taskLife {
		return r.task(ctx, src, audio, &task)
	}
	info := examine(src, audio)
	switch mode := r.choose(info, src.Size); mode {
	case Task:
		return r.task(ctx, src, audio, nil)
	case Sentence:
		return r.sentence(ctx, src, info)
	default:
		return r.flash(ctx, src, audio, info)
	}
}
