package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

const codeFull = "storage_full" // of what does not fit into the storage

// failure is an error response.
type failure struct {
	status     int
	retryAfter time.Duration
	cause      error // for the log only

	Message string `json:"message"`
	Type    string `json:"type"`
	Code    string `json:"code"`
	Param   string `json:"param,omitempty"`
}

func problem(status int, code, message string) *failure {
	kind := "invalid_request_error"
	switch {
	case status == 401:
		kind = "authentication_error"
	case status == 429:
		kind = "rate_limit_error"
	case status >= 500:
		kind = "server_error"
	}
	return &failure{status: status, Message: message, Type: kind, Code: code}
}

func internal(cause error) *failure {
	f := problem(500, "internal", "an internal error ended the request")
	f.cause = cause
	return f
}

// invalid returns a failure that is caused by one parameter.
func invalid(status int, param, code, format string, args ...any) *failure {
	f := problem(status, code, fmt.Sprintf(format, args...))
	f.Param = shorten(param)
	return f
}

func (f *failure) after(d time.Duration) *failure {
	f.retryAfter = d
	return f
}

func (f *failure) write(w http.ResponseWriter) {
	if f.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.retryAfter.Seconds()))))
	} else if f.status >= 500 {
		w.Header().Set("X-Should-Retry", "false") // OpenAI's clients would send, and pay, it twice more
	}
	writeJSON(w, f.status, map[string]*failure{"error": f})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // an address keeps its "&"
	if err := encoder.Encode(v); err != nil {
		panic(err)
	}
	writeBody(w, status, body.Bytes())
}

func writeBody(w http.ResponseWriter, status int, data []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	_, _ = w.Write(data)
}
