package local

import (
	"net/http"
	"strings"

	"lessonkit.example/asr"
	"lessonkit.example/asr/internal/remote"
)

// refusal classes an answer with another status than 200. The recording has passed our own look at its format before it
// was sent, so that a status alone can tell whose fault it is, except for the 500 that several servers give for audio they cannot decode.
func (r *Recognizer) refusal(resp *http.Response, body []byte, model string) error {
	e := &asr.Error{Op: op, Status: resp.StatusCode, Message: errorText(body)}
	switch s := resp.StatusCode; {
	case s == http.StatusRequestTimeout, s == http.StatusTooEarly, s == http.StatusTooManyRequests, s == 499,
		s == http.StatusBadGateway, s == http.StatusServiceUnavailable, s == http.StatusGatewayTimeout:
		e.Class = asr.ErrUnavailable
		e.After = remote.RetryAfter(resp.Header.Get("Retry-After"), r.now())
	case s >= 300 && s < 400:
		e.Class = asr.ErrMisconfigured
		e.Message = "it redirects elsewhere, which is not followed; set the address it redirects to"
	case s == http.StatusUnauthorized, s == http.StatusForbidden, s == http.StatusProxyAuthRequired:
		e.Class = asr.ErrMisconfigured
		e.Message = "the key is missing or wrong: " + e.Message
	case s == http.StatusPaymentRequired:
		e.Class = asr.ErrRefused
	case s == http.StatusNotFound || s == http.StatusBadRequest || s == http.StatusUnprocessableEntity:
		switch {
		case s != http.StatusNotFound && r.cfg.Segments && namesFormat(body):
			e.Class, e.Err = asr.ErrMisconfigured, &changed{plain: true}
		case namesModel(body, model):
			e.Class, e.Err = asr.ErrMisconfigured, &changed{model: true, used: model}
		case s == http.StatusNotFound:
			e.Class, e.Err = asr.ErrMisconfigured, &changed{}
		default:
			e.Class = asr.ErrUnusableAudio
		}
	case s == http.StatusMethodNotAllowed, s == http.StatusNotImplemented:
		e.Class, e.Err = asr.ErrMisconfigured, &changed{}
	case s == http.StatusRequestEntityTooLarge, s == http.StatusUnsupportedMediaType:
		e.Class = asr.ErrUnusableAudio
	case s >= 400 && s < 500:
		e.Class = asr.ErrMisconfigured
	}
	return e
}

// namesModel tells whether an error is about the model: "Model 'x' not found. Available: …", "Model x is not installed locally".
func namesModel(body []byte, model string) bool {
	s := strings.ToLower(errorText(body))
	if !strings.Contains(s, "model") && (model == "" || !strings.Contains(s, strings.ToLower(model))) {
		return false
	}
	for _, words := range []string{"not found", "not exist", "not installed", "not available", "not loaded", "no such", "unknown", "invalid model", "not supported", "unsupported"} {
		if strings.Contains(s, words) {
			return true
		}
	}
	return false
}

// namesFormat tells whether an error is about response_format=verbose_json.
func namesFormat(body []byte) bool {
	s := strings.ToLower(errorText(body))
	return strings.Contains(s, "verbose_json") || strings.Contains(s, "response_format")
}
