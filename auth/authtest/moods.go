package authtest

import (
	"io"
	"net/http"
	"strings"
)

// ErrorCode returns a mood that answers with a platform's error code.
func ErrorCode(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		write(w, map[string]any{"errcode": code, "errmsg": "refused, rid: 6530c2b1-0000"})
	}
}

// Text returns a mood that answers with a status and a body.
func Text(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// Hang returns a mood that does not answer: it closes the connection when the client gives up or
// release is closed. A nil release is never closed.
func Hang(release <-chan struct{}) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // net/http notices that the client gives up after that only
		select {
		case <-release:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	}
}

// Cut is a mood that closes the connection without an answer.
func Cut(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// CutShort is a mood that closes the connection in the middle of the answer.
func CutShort(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, `{"openid":"`)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// Echo is a mood that answers with an error message which repeats the whole request, including the
// secret.
func Echo(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	text := strings.Join([]string{r.URL.RawQuery, q.Get("secret"), q.Get("js_code")}, " ")
	write(w, map[string]any{"errcode": 40029, "errmsg": text})
}
