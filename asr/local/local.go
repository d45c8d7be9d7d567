// Package local is a client for speech recognition servers that one runs oneself: whisper.cpp, speaches (faster-whisper-server),
// vLLM, LocalAI, the servers of FunASR, and whatever else speaks OpenAI's form or whisper.cpp's own.
//
// One URL is enough: [New] takes it, and the [Recognizer] finds out the rest (the path, the form, the model) with one
// cheap request when it is first used. [Recognizer.Run] keeps [Recognizer.Status] fresh in the background.
//
// # URL
//
// "http://127.0.0.1:8080" is a base: /v1/audio/transcriptions, /inference and /recognition are tried below it. A path that ends
// in /transcriptions, /inference or /recognition is used as it is. The query holds form fields to send along:
// "?model=large-v3&language=zh&prompt=…". "http://:KEY@host" sends KEY as a bearer token, "http://user:password@host"
// as basic authentication.
//
// # Network
//
// Requests announce their length and are never chunked. Redirects are refused. Addresses of this machine
// and of the local network are reached without a proxy, others through the one that the environment names.
//
// Exported names stay; fields of Config may be added.
package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"lessonkit.example/asr"
	"lessonkit.example/asr/internal/source"
)

const op = "local"

// Config says which server to use. Only URL is needed.
type Config struct {
	// URL is the server; see the package comment.
	URL string
	// Model is the model to ask for. It wins over the one in URL. Defaults to the first that the server lists as ready, else "whisper-1".
	Model string
	// APIKey is sent as a bearer token. It wins over the one in URL. Defaults to none.
	APIKey string
	// Segments asks for timed segments, which costs some servers a second pass. Defaults to text only.
	Segments bool
	// RequestTimeout bounds one recording: sending, recognition and answer. Defaults to 30 minutes.
	RequestTimeout time.Duration
	// Concurrency is how many recordings are sent at once; further calls wait. Servers on one machine gain little from more than
	// one; one whisper.cpp must not get more than 8. Defaults to 1.
	Concurrency int
	// CheckInterval is the time between two checks by Run. Defaults to 15 seconds.
	CheckInterval time.Duration
	// Transport sends the requests. Defaults to one of the Recognizer's own, as the package comment says.
	Transport http.RoundTripper
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Logger gets what an operator should know; no audio, text or secret. If nil, nothing is logged.
	Logger *slog.Logger
}

func (c Config) requestTimeout() time.Duration {
	if c.RequestTimeout > 0 {
		return c.RequestTimeout
	}
	return 30 * time.Minute
}

func (c Config) checkInterval() time.Duration {
	if c.CheckInterval > 0 {
		return c.CheckInterval
	}
	return 15 * time.Second
}

// Recognizer is a client of one server. It implements [asr.Recognizer].
type Recognizer struct {
	cfg    Config
	target target
	client *http.Client
	slots  chan struct{}
	now    func() time.Time
	log    *slog.Logger

	discovery sync.Mutex // held while the endpoint is looked for, so that one request does it
	memory    memory
}

var _ asr.Recognizer = (*Recognizer)(nil)

// New checks the configuration. It makes no request and starts nothing.
func New(cfg Config) (*Recognizer, error) {
	t, err := parseTarget(cfg)
	if err != nil {
		return nil, err
	}
	r := &Recognizer{cfg: cfg, target: t, slots: make(chan struct{}, max(cfg.Concurrency, 1)), now: cfg.Now, log: cfg.Logger}
	if r.now == nil {
		r.now = time.Now
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	transport := cfg.Transport
	if transport == nil {
		transport = newTransport(cfg)
	}
	r.client = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	r.memory.status = asr.Status{Provider: "local", Model: t.model, Reason: "not checked yet"}
	return r, nil
}

// Recognize sends the recording and returns what the server heard. See [asr.Recognizer].
func (r *Recognizer) Recognize(ctx context.Context, audio asr.Audio) (asr.Transcript, error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return asr.Transcript{}, source.Interrupted(ctx, op)
	}
	r.memory.begin()
	t, err := r.recognize(ctx, audio)
	r.memory.end(r.now(), t.Model, err, ctx.Err() != nil)
	return t, err
}

// recognize tries once more, at once, where the answer shows that what was remembered of the server is out of date.
func (r *Recognizer) recognize(ctx context.Context, audio asr.Audio) (asr.Transcript, error) {
	work, cancel := context.WithTimeout(ctx, r.cfg.requestTimeout())
	defer cancel()
	for attempt := 0; ; attempt++ {
		t, err := r.send(work, audio)
		switch {
		case err == nil:
			return t, nil
		case ctx.Err() != nil:
			return asr.Transcript{}, source.Interrupted(ctx, op)
		case work.Err() != nil:
			return asr.Transcript{}, &asr.Error{
				Op: op, Class: asr.ErrUnavailable, Err: context.DeadlineExceeded,
				Message: fmt.Sprintf("no answer within %v", r.cfg.requestTimeout()),
				After:   max(30*time.Second, source.Duration(audio)),
			}
		case attempt == 0 && r.forget(err):
			r.log.WarnContext(ctx, "recogniser has changed, looking again", "error", err)
		default:
			return asr.Transcript{}, err
		}
	}
}

// send makes one request.
func (r *Recognizer) send(ctx context.Context, audio asr.Audio) (asr.Transcript, error) {
	src, err := source.Open(op, audio)
	if err != nil {
		return asr.Transcript{}, err
	}
	defer src.Close()
	ep, err := r.endpoint(ctx)
	if err != nil {
		return asr.Transcript{}, err
	}
	model := r.model(ctx, ep)
	form := newForm(ep, r.fields(ep, model, audio.Language), src)
	req, err := form.request(ctx, ep.url, func() (*source.Source, error) { return source.Open(op, audio) })
	if err != nil {
		return asr.Transcript{}, &asr.Error{Op: op, Message: "make request", Err: err}
	}
	r.target.authorize(req)
	resp, err := r.client.Do(req)
	if err != nil {
		if bad := form.failure.Err(); bad != nil {
			return asr.Transcript{}, &asr.Error{Op: op, Message: "read audio", Err: bad}
		}
		return asr.Transcript{}, transportError(err)
	}
	defer resp.Body.Close()
	body, err := readBody(resp.Body)
	if err != nil && resp.StatusCode == http.StatusOK {
		return asr.Transcript{}, &asr.Error{Op: op, Status: resp.StatusCode, Message: "the answer breaks off", Err: err}
	}
	t, err := r.answer(resp, body, model)
	if err != nil {
		var e *asr.Error
		if errors.As(err, &e) && resp.StatusCode == http.StatusGatewayTimeout {
			// The recogniser behind the proxy goes on with the work; asking again at once would double it.
			e.After = max(e.RetryAfter(), source.Duration(audio))
		}
		return asr.Transcript{}, err
	}
	t.Model = model
	if t.Duration == 0 {
		t.Duration = src.Info.Duration
	}
	if t.Duration == 0 {
		t.Duration = source.Duration(audio)
	}
	return t, nil
}

// fields are the text fields to send, in order.
func (r *Recognizer) fields(ep endpoint, model, language string) []field {
	if ep.bare {
		return nil
	}
	format := "json"
	if r.cfg.Segments && !r.memory.plainOnly() {
		format = "verbose_json"
	}
	fields := []field{{"response_format", format}}
	if model != "" {
		fields = append(fields, field{"model", model})
	}
	if language == "" {
		language = r.target.language
	}
	if language != "" {
		fields = append(fields, field{"language", language})
	}
	return append(fields, r.target.extra...)
}

// maxAnswer bounds an answer. Verbose JSON of many hours of speech stays below.
const maxAnswer = 8 << 20

func readBody(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxAnswer+1))
	if err == nil && len(b) > maxAnswer {
		err = fmt.Errorf("longer than %d bytes", maxAnswer)
	}
	return b, err
}

// transportError classes an error without an answer: the server is away, and that is not the recording's fault.
func transportError(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the address
	}
	return &asr.Error{Op: op, Class: asr.ErrUnavailable, Message: "no answer from the server", Err: err}
}
