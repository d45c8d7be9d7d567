package local

import (
	"net/http"
	"strings"
	"time"

	"lessonkit.example/asr"
	"lessonkit.example/asr/internal/remote"
)

// refusal returns the error for an answer with a status other than 200. The format of the recording
// was checked before it was sent, so the status alone tells the class, except for the 500 that
// several servers return for audio they cannot decode.
func (r *Recognizer) refusal(resp *http.Response, body []byte, model string) *asr.Error {
	e := &asr.Error{Op: op, Status: resp.StatusCode, Message: errorText(body)}
	switch s := resp.StatusCode; {
	case s == http.StatusRequestTimeout, s == http.StatusTooEarly, s == http.StatusTooManyRequests, s == 499,
		s == http.StatusServiceUnavailable:
		e.Class = asr.ErrUnavailable
		e.After = remote.RetryAfter(resp.Header.Get("Retry-After"), time.Now())
	case s == http.StatusBadGateway, s == http.StatusGatewayTimeout:
		e.Class = asr.ErrLost // a proxy has lost the recogniser behind it
	case s >= 300 && s < 400:
		e.Class = asr.ErrMisconfigured
		e.Message = "it redirects, which is not followed; configure the address it redirects to"
	case s == http.StatusUnauthorized, s == http.StatusForbidden, s == http.StatusProxyAuthRequired:
		e.Class = asr.ErrMisconfigured
		e.Message = "the key is missing or wrong: " + e.Message
	case s == http.StatusPaymentRequired:
		e.Class = asr.ErrRefused
	case s == http.StatusNotFound || s == http.StatusBadRequest || s == http.StatusUnprocessableEntity:
		switch {
		case s != http.StatusNotFound && r.cfg.Segments && namesFormat(body):
			e.Class, e.Err = asr.ErrMisconfigured, errNoSegments
		case namesModel(body, model):
			e.Class, e.Err = asr.ErrMisconfigured, errNoModel
		case s == http.StatusNotFound:
			e.Class, e.Err = asr.ErrMisconfigured, errNoEndpoint
		default:
			e.Class = asr.ErrUnusableAudio
		}
	case s == http.StatusMethodNotAllowed, s == http.StatusNotImplemented:
		e.Class, e.Err = asr.ErrMisconfigured, errNoEndpoint
	case s == http.StatusRequestEntityTooLarge, s == http.StatusUnsupportedMediaType:
		e.Class = asr.ErrUnusableAudio
	case s >= 400 && s < 500:
		e.Class = asr.ErrMisconfigured
	}
	if e.Class != nil { // a server that uses this package names the class, as Error does
		e.Message = strings.TrimPrefix(e.Message, e.Class.Error()+": ")
	}
	return e
}

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

// namesFormat reports whether an error is about response_format=verbose_json.
func namesFormat(body []byte) bool {
	s := strings.ToLower(errorText(body))
	return strings.Contains(s, "verbose_json") || strings.Contains(s, "response_format")
}
