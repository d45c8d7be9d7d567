package local

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"lessonkit.example/asr"
	"lessonkit.example/asr/provider"
)

const (
	discoveryTimeout = 5 * time.Second
	modelsTimeout    = 2 * time.Second
	fallbackModel    = "whisper-1"
	// listedFor is how long a list of models without the one to request is not requested again.
	listedFor = time.Minute
)

// server is what has been discovered about the server. Its zero value means nothing yet.
type server struct {
	mu       sync.Mutex // held during discovery, so that concurrent calls share one
	endpoint endpoint
	missing  int         // candidates for the endpoint that a recording has shown to be missing
	listed   []modelInfo // the models that it lists, nil if that is unknown
	listedAt time.Time
	returned times // the most that it has returned
	// atMost is what is requested of it until atMostUntil.
	atMost      times
	atMostUntil time.Time
}

// times is what is requested besides the text.
type times byte

const (
	noTimes      times = iota
	segmentTimes       // segments with their times
	wordTimes          // words with their times, too
)

// fewerTimesFor is how long fewer times are requested from a server that has failed with a request
// for them: that may have had another cause. It is noTimesFor if the answer tells that it has none.
const (
	fewerTimesFor = 10 * time.Minute
	noTimesFor    = 24 * time.Hour
)

// requestTimes returns the times to request.
func (r *Recognizer) requestTimes() times {
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	switch {
	case !r.cfg.Segments:
		return noTimes
	case time.Now().Before(r.server.atMostUntil):
		return r.server.atMost
	}
	return wordTimes
}

// learnTimes records the last result of a recording.
func (r *Recognizer) learnTimes(requested times, err error) {
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	switch {
	case err == nil:
		r.server.returned = max(r.server.returned, requested)
	case requested == noTimes && isAnswer(err):
		r.server.atMostUntil = time.Time{} // it fails without them, too
	}
}

// endpoint returns where to send recordings: as configured, or as discovered.
func (r *Recognizer) endpoint(ctx context.Context) (endpoint, error) {
	if r.target.fixed != nil {
		return *r.target.fixed, nil
	}
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	if r.server.endpoint.url != "" {
		return r.server.endpoint, nil
	}
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	var tried []string
	candidates := r.target.candidates()
	healthy, err := r.healthy(ctx)
	e, _ := errors.AsType[*asr.Error](err)
	switch {
	case e != nil && (e.Status == 0 || e.Status == http.StatusServiceUnavailable):
		e.Class = asr.ErrUnavailable
		return endpoint{}, e
	case healthy && r.server.missing < len(candidates):
		// A probe may wait for a recording that such a server works on, as in whisper.cpp.
		return candidates[r.server.missing], nil
	}
	for _, ep := range candidates {
		found, sure, err := r.probe(ctx, &ep)
		if err != nil {
			return endpoint{}, err
		}
		if found {
			if sure {
				r.server.endpoint = ep
				r.log.InfoContext(ctx, "recogniser found", "endpoint", ep.url)
			}
			return ep, nil
		}
		tried = append(tried, ep.url)
	}
	r.server.missing = 0 // it may change
	return endpoint{}, &asr.Error{
		Op: op, Class: asr.ErrMisconfigured, Status: http.StatusNotFound,
		Message: "no recogniser at this address; tried " + strings.Join(tried, ", "),
	}
}

// remember keeps an endpoint that has answered.
func (r *Recognizer) remember(ctx context.Context, ep endpoint) {
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	if r.server.endpoint.url == "" {
		r.log.InfoContext(ctx, "recogniser found", "endpoint", ep.url)
		r.server.endpoint = ep
	}
}

// found reports whether an endpoint has answered.
func (r *Recognizer) found() bool {
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	return r.server.endpoint.url != ""
}

// probe sends a form without a recording. A server without the endpoint answers 404, 405 or 501;
// every other rejection shows that the endpoint exists. sure is false for an answer that should not
// be remembered.
func (r *Recognizer) probe(ctx context.Context, ep *endpoint) (found, sure bool, err error) {
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	_ = w.WriteField("response_format", "json")
	_ = w.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, ep.url, &buf)
	if err != nil {
		return false, false, &asr.Error{Op: op, Class: asr.ErrMisconfigured, Message: "make request", Err: err}
	}
	req.Header.Set("Content-Type", w.FormDataContentType())
	req.Header.Set("Accept", "application/json")
	resp, body, err := r.do(req)
	if errors.Is(err, context.DeadlineExceeded) {
		return false, false, &asr.Error{
			Op: op, Class: asr.ErrUnavailable, Err: context.DeadlineExceeded,
			Message: "the server is busy or hangs: no answer to a request without audio",
		}
	}
	if err != nil {
		return false, false, err
	}
	switch s := resp.StatusCode; {
	case plainHTTP.Match(body):
		return false, false, refusal(resp, r.hide(body), asked{}, asr.Audio{})
	case s == http.StatusNotFound && namesModel(body, r.target.model):
		return true, true, nil // speaches checks the model before the file
	case s == http.StatusNotFound, s == http.StatusMethodNotAllowed, s == http.StatusNotImplemented:
		return false, false, nil
	case s == http.StatusUnauthorized, s == http.StatusForbidden, s == http.StatusProxyAuthRequired,
		s == http.StatusBadGateway, s == http.StatusServiceUnavailable, s == http.StatusGatewayTimeout,
		s == http.StatusTooManyRequests, s == http.StatusRequestTimeout, s >= 300 && s < 400:
		e := refusal(resp, r.hide(body), asked{}, asr.Audio{})
		if e.Class == asr.ErrLost {
			e.Class = asr.ErrUnavailable // no recording was sent that could be the cause
		}
		return false, false, e
	case s == http.StatusOK && provider.IsHTML(body):
		return false, false, nil // a page for every path
	case s == http.StatusOK:
		ep.fileOnly = isRuntime(body)
		return true, true, nil
	default:
		return true, s < 500, nil // some servers answer 500 when the file is missing
	}
}

// isRuntime reports whether an answer is that of FunASR's C++ server, which answers every path, and
// takes every part of a form for audio.
func isRuntime(body []byte) bool {
	var answer struct {
		Mode    string `json:"mode"`
		WavName string `json:"wav_name"`
	}
	return json.Unmarshal(body, &answer) == nil && (answer.Mode != "" || answer.WavName != "")
}

// model returns the model to request, or "" where the endpoint takes none. It fails if the server
// lists the languages of the model, and that of the recording, "" if unknown, is not one of them:
// such a server may answer an empty text.
func (r *Recognizer) model(ctx context.Context, ep endpoint, language string) (string, error) {
	name := r.target.model
	if !ep.openAI || ep.fileOnly || name != "" && language == "" {
		return name, nil
	}
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	m, ok := find(r.server.listed, name)
	unlisted := !ok && time.Since(r.server.listedAt) < listedFor
	if (!ok || m.checkLanguage(language) != nil) && !unlisted { // perhaps the list has changed
		ctx, cancel := context.WithTimeout(ctx, modelsTimeout)
		defer cancel()
		if list, _, err := r.models(ctx); err == nil {
			r.server.listed, r.server.listedAt = list, time.Now()
		}
		m, ok = find(r.server.listed, name)
	}
	if !ok {
		return cmp.Or(name, fallbackModel), nil // the request with the recording will show whether the server is up
	}
	return m.ID, m.checkLanguage(language)
}

// modelInfo is an entry of /v1/models, with fields that some servers add to OpenAI's.
type modelInfo struct {
	ID    string `json:"id"`
	Ready *bool  `json:"ready"` // FunASR
	Task  string `json:"task"`  // speaches
	// Languages are the languages of the model, if the server lists them; speaches does.
	Languages languages `json:"language"`
}

// languages is a list of language codes. JSON of another form is an empty list.
type languages []string

func (l *languages) UnmarshalJSON(b []byte) error {
	var list []string
	if json.Unmarshal(b, &list) == nil {
		*l = list
	}
	return nil
}

func (m modelInfo) loading() bool { return m.Ready != nil && !*m.Ready }

// checkLanguage returns an error if the model is listed with languages other than the one given.
func (m modelInfo) checkLanguage(language string) error {
	if language == "" || len(m.Languages) == 0 || slices.ContainsFunc(m.Languages, func(l string) bool {
		return provider.PrimaryLanguage(l) == language
	}) {
		return nil
	}
	known := provider.Excerpt(strings.Join(m.Languages, ", "), asr.Audio{})
	return &asr.Error{Op: op, Class: asr.ErrMisconfigured, Err: languageError{language, known}}
}

// languageError means that the model is listed without the language.
type languageError struct{ language, known string }

func (e languageError) Error() string {
	return fmt.Sprintf("the model does not know the language %q; it knows %s", e.language, e.known)
}

func (e languageError) PublicText() string {
	return fmt.Sprintf("the recogniser does not know the language %q", e.language)
}

func (languageError) PublicCode() string { return "language_unknown" }

// find returns the model of the name, or the one to choose if the name is "".
func find(list []modelInfo, name string) (modelInfo, bool) {
	if name == "" && len(list) > 0 {
		return choose(list), true
	}
	i := slices.IndexFunc(list, func(m modelInfo) bool { return m.ID == name })
	if i < 0 {
		return modelInfo{}, false
	}
	return list[i], true
}

// Names of models. WhisperSpeech is text-to-speech.
var (
	isWhisper       = regexp.MustCompile(`(?i)whisper($|[^s])`)
	otherRecogniser = regexp.MustCompile(`(?i)asr|sensevoice|paraformer|parakeet|transcribe`)
)

// choose returns the first model that is ready, else the first for speech recognition, as its task
// or its name tells, else the first.
func choose(list []modelInfo) modelInfo {
	for _, fits := range []func(m modelInfo) bool{
		func(m modelInfo) bool { return m.Ready != nil && *m.Ready },
		func(m modelInfo) bool { return m.Task == "automatic-speech-recognition" },
		func(m modelInfo) bool { return isWhisper.MatchString(m.ID) && !otherRecogniser.MatchString(list[0].ID) },
	} {
		if i := slices.IndexFunc(list, fits); i >= 0 {
			return list[i]
		}
	}
	return list[0]
}

// models requests the list of models. The status of an answer that is not a list is 404.
func (r *Recognizer) models(ctx context.Context) (list []modelInfo, status int, err error) {
	status, body, err := r.get(ctx, r.target.api("models"))
	if err != nil || status != http.StatusOK {
		return nil, status, err
	}
	var answer struct {
		Data *[]modelInfo `json:"data"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Data == nil {
		return nil, http.StatusNotFound, nil
	}
	for _, m := range *answer.Data {
		if m.ID != "" && len(m.ID) <= 256 {
			list = append(list, m)
		}
	}
	return list, status, nil
}

// get requests an address.
func (r *Recognizer) get(ctx context.Context, url string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	resp, body, err := r.do(req)
	if err != nil {
		return 0, nil, err
	}
	return resp.StatusCode, body, nil
}

// do makes a request without a recording, and reads at most 1 MiB of the answer.
func (r *Recognizer) do(req *http.Request) (*http.Response, []byte, error) {
	r.target.authorize(req)
	resp, err := provider.Do(op, r.cfg.Transport, req)
	var body []byte
	if err == nil {
		defer resp.Body.Close()
		body, err = io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	}
	if err == nil {
		return resp, body, nil
	}
	e, ok := errors.AsType[*asr.Error](err)
	if !ok {
		e = &asr.Error{Op: op, Message: "incomplete answer", Err: err}
	}
	e.Class = asr.ErrUnavailable // no recording was sent that could be the cause
	return nil, nil, e
}

// Causes of errors which show that the server has changed since it was discovered.
var (
	errNoEndpoint = errors.New("it does not have the endpoint")
	errNoModel    = errors.New("it does not have the model")
	errNoTimes    = errors.New("it does not return times")
	errNoWords    = errors.New("it does not return these times")
)

// isAnswer reports whether err is the answer of a server to a recording that it could not
// recognise, and has read.
func isAnswer(err error) bool {
	e, ok := errors.AsType[*asr.Error](err)
	return ok && e.Status != 0 && e.Status != http.StatusRequestEntityTooLarge &&
		(e.Class == nil || e.Class == asr.ErrUnusableAudio)
}

// forget drops what err, the error of a request, has shown to be out of date, and reports whether
// trying again can help.
func (r *Recognizer) forget(ctx context.Context, err error, to asked) bool {
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	switch {
	case to.times > noTimes && (errors.Is(err, errNoTimes) || errors.Is(err, errNoWords) ||
		r.server.returned < to.times && isAnswer(err)):
		r.server.atMost, r.server.atMostUntil = to.times-1, time.Now().Add(fewerTimesFor)
		if !to.openAI {
			r.server.atMost = noTimes // the same request returns both
		}
		if errors.Is(err, errNoTimes) {
			r.server.atMost, r.server.atMostUntil = noTimes, time.Now().Add(noTimesFor)
		}
		message := "the recogniser fails if times of words are requested: only segments are requested"
		if r.server.atMost == noTimes {
			message = "the recogniser fails if segments are requested: only text is requested"
		}
		r.log.InfoContext(ctx, message, "error", err)
		return true
	case errors.Is(err, errNoEndpoint):
		candidates := r.target.candidates()
		if r.server.endpoint == to.endpoint {
			r.server.endpoint = endpoint{}
		}
		// Unless a concurrent call has found out.
		if r.server.missing < len(candidates) && candidates[r.server.missing] == to.endpoint {
			r.server.missing++
		}
		return r.target.fixed == nil && (r.server.endpoint.url != "" || r.server.missing < len(candidates))
	case errors.Is(err, errNoModel):
		if r.target.model != "" || to.model == "" || to.model == fallbackModel && len(r.server.listed) == 0 {
			return false
		}
		if m, _ := find(r.server.listed, ""); m.ID == to.model {
			r.server.listed, r.server.listedAt = nil, time.Time{}
		}
		return true
	}
	return false
}
