package local

import (
	"net/http"
	"regexp"
	"strings"

	"lessonkit.example/asr"
	"lessonkit.example/asr/provider"
)

// refusal returns the error for an answer with a status other than 200 to a recording.
func refusal(resp *http.Response, body []byte, to asked, sent asr.Audio) *asr.Error {
	e := provider.StatusError(op, resp, provider.Excerpt(errorText(body), sent))
	if plainHTTP.Match(body) {
		e.Class, e.Message = asr.ErrMisconfigured, "the server expects https:// in its address"
		return e
	}
	switch s := resp.StatusCode; s {
	case http.StatusNotFound, http.StatusBadRequest, http.StatusUnprocessableEntity:
		switch {
		case s != http.StatusNotFound && to.times > noTimes && namesFormat(body):
			e.Class, e.Err = asr.ErrMisconfigured, errNoTimes
		case s != http.StatusNotFound && to.times > noTimes && strings.Contains(errorText(body), "granularit"):
			e.Class, e.Err = asr.ErrMisconfigured, errNoWords
		case namesModel(body, to.model):
			e.Class, e.Err = asr.ErrMisconfigured, errNoModel
		case s == http.StatusNotFound:
			e.Err = errNoEndpoint
		}
	case http.StatusTooManyRequests:
		if strings.Contains(string(body), "insufficient_quota") { // OpenAI's code where waiting does not help
			e.Class, e.After = asr.ErrRefused, 0
		}
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		e.Err = errNoEndpoint
	}
	if e.Class != nil { // a server that uses this package names the class, as Error does
		e.Message = strings.TrimPrefix(e.Message, e.Class.Error()+": ")
	}
	return e
}

// plainHTTP is what nginx, Apache, and servers written in Go answer with status 400 to a request
// without TLS.
var plainHTTP = regexp.MustCompile(`(?i)\bHTTP request (was sent )?to (an )?HTTPS\b|\bplain HTTP to an SSL`)

// vague reports whether a message of whisper.cpp may be about the format: those of releases since
// 2025, and of those before.
func vague(message string) bool {
	return strings.Contains(message, "Invalid request") || strings.Contains(message, "failed to read")
}

// namesModel reports whether an error is about the model, as in "Model 'x' not found" and "Model x
// is not installed locally".
func namesModel(body []byte, model string) bool {
	s := strings.ToLower(errorText(body))
	if !strings.Contains(s, "model") && (model == "" || !strings.Contains(s, strings.ToLower(model))) {
		return false
	}
	for _, words := range []string{
		"not found", "not exist", "not installed", "not available", "not loaded", "no such", "unknown",
		"invalid model", "not supported", "unsupported",
	} {
		if strings.Contains(s, words) {
			return true
		}
	}
	return false
}

// namesFormat reports whether an error is about a request for times.
func namesFormat(body []byte) bool {
	s := strings.ToLower(errorText(body))
	return strings.Contains(s, "verbose_json") || strings.Contains(s, "response_format")
}
