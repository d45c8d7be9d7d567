package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"lessonkit.example/asr"
)

const (
	discoveryTimeout = 5 * time.Second
	modelsTimeout    = 2 * time.Second
	fallbackModel    = "whisper-1"
)

// endpoint returns where to send recordings: as configured, as remembered, or as found now.
func (r *Recognizer) endpoint(ctx context.Context) (endpoint, error) {
	if r.target.fixed != nil {
		return *r.target.fixed, nil
	}
	if ep, ok := r.memory.endpoint(); ok {
		return ep, nil
	}
	r.discovery.Lock()
	defer r.discovery.Unlock()
	if ep, ok := r.memory.endpoint(); ok {
		return ep, nil
	}
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	var tried []string
	for _, ep := range r.target.candidates() {
		found, sure, err := r.probe(ctx, &ep)
		if err != nil {
			return endpoint{}, err
		}
		if found {
			if sure {
				r.memory.setEndpoint(ep)
				r.log.InfoContext(ctx, "recogniser found", "endpoint", ep.url)
			}
			return ep, nil
		}
		tried = append(tried, ep.url)
	}
	return endpoint{}, &asr.Error{
		Op: op, Class: asr.ErrMisconfigured, Status: http.StatusNotFound,
		Message: "no recogniser at this address; tried " + strings.Join(tried, ", "),
	}
}

// probe asks an endpoint with a form that holds no recording. A server without the endpoint says 404, 405 or 501; every
// other refusal shows that the endpoint is there. sure is false for an answer that should not be remembered.
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
	r.target.authorize(req)
	resp, err := r.client.Do(req)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return false, false, &asr.Error{
				Op: op, Class: asr.ErrUnavailable, Message: "the server is busy or hangs: it did not answer a request without audio", Err: context.DeadlineExceeded,
			}
		}
		return false, false, transportError(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	switch s := resp.StatusCode; {
	case s == http.StatusNotFound && namesModel(body, r.target.model):
		return true, true, nil // speaches looks for the model before the file
	case s == http.StatusNotFound, s == http.StatusMethodNotAllowed, s == http.StatusNotImplemented:
		return false, false, nil
	case s == http.StatusUnauthorized, s == http.StatusForbidden, s == http.StatusProxyAuthRequired, s >= 300 && s < 400:
		return false, false, r.refusal(resp, body, "")
	case s == http.StatusInternalServerError:
		return true, false, nil // some servers fail on the missing file
	case s == http.StatusBadGateway, s == http.StatusServiceUnavailable, s == http.StatusGatewayTimeout,
		s == http.StatusTooManyRequests, s == http.StatusRequestTimeout:
		return false, false, r.refusal(resp, body, "")
	case s == http.StatusOK && looksHTML(body):
		return false, false, nil // a web page for every path
	case s == http.StatusOK:
		// FunASR's C++ server answers everything, and takes every part of the form for audio.
		var answer struct {
			Mode    string `json:"mode"`
			WavName string `json:"wav_name"`
		}
		if json.Unmarshal(body, &answer) == nil && (answer.Mode != "" || answer.WavName != "") {
			ep.bare = true
		}
		return true, true, nil
	default:
		return true, s < 500, nil
	}
}

// model returns the model to ask for, or "" where the endpoint takes none.
func (r *Recognizer) model(ctx context.Context, ep endpoint) string {
	if r.target.model != "" {
		return r.target.model
	}
	if !ep.openAI || ep.bare {
		return ""
	}
	if m := r.memory.model(); m != "" {
		return m
	}
	ctx, cancel := context.WithTimeout(ctx, modelsTimeout)
	defer cancel()
	list, status, err := r.models(ctx)
	if err != nil || status != http.StatusOK || len(list) == 0 {
		return fallbackModel // the recording itself will show whether the server is there
	}
	m := choose(list)
	r.memory.setModel(m)
	return m
}

// listed is an entry of /v1/models, with what some servers add to OpenAI's fields.
type listed struct {
	ID    string `json:"id"`
	Ready *bool  `json:"ready"` // FunASR
	Task  string `json:"task"`  // speaches
}

// choose returns the first model that is ready, else the first that recognises speech, else the first.
func choose(list []listed) string {
	for _, m := range list {
		if m.Ready != nil && *m.Ready {
			return m.ID
		}
	}
	for _, m := range list {
		if m.Task == "automatic-speech-recognition" {
			return m.ID
		}
	}
	return list[0].ID
}

// models asks for the list of models. A list that cannot be read counts as none.
func (r *Recognizer) models(ctx context.Context) ([]listed, int, error) {
	status, body, err := r.get(ctx, r.target.api("models"))
	if err != nil || status != http.StatusOK {
		return nil, status, err
	}
	var answer struct {
		Data *[]listed `json:"data"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Data == nil {
		return nil, http.StatusNotFound, nil
	}
	list := (*answer.Data)[:0]
	for _, m := range *answer.Data {
		if m.ID != "" && len(m.ID) <= 256 {
			list = append(list, m)
		}
	}
	return list, status, nil
}

// get reads a small answer.
func (r *Recognizer) get(ctx context.Context, url string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	r.target.authorize(req)
	resp, err := r.client.Do(req)
	if err != nil {
		return 0, nil, transportError(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return 0, nil, fmt.Errorf("read answer: %w", err)
	}
	return resp.StatusCode, body, nil
}

// forget drops what a failed request has shown to be out of date, and tells whether trying again can help.
func (r *Recognizer) forget(err error) bool {
	var e *changed
	if !errors.As(err, &e) {
		return false
	}
	switch {
	case e.plain:
		r.memory.setPlainOnly()
		return true
	case e.model:
		return r.target.model == "" && r.memory.forgetModel(e.used)
	default:
		r.memory.setEndpoint(endpoint{})
		return r.target.fixed == nil
	}
}

// changed marks the cause of an error as something that was remembered of the server.
type changed struct {
	model bool // it does not have the model that was used
	used  string
	plain bool // it does not give segments
}

func (c *changed) Error() string {
	switch {
	case c.plain:
		return "it gives no segments"
	case c.model:
		return "it does not have the model"
	}
	return "it does not have the endpoint"
}
