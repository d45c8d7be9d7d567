package authtest

import (
	"io"
	"net/http"
	"strings"
)

// ErrorCode answers with a platform's error code, in the dialect of the request.
func ErrorCode(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		const message = "refused, rid: 6530c2b1-0000"
		if r.URL.Path == jsonPath {
			write(w, map[string]any{"err_no": code, "err_tips": message})
			return
		}
		write(w, map[string]any{"errcode": code, "errmsg": message})
	}
}

// Text answers with any status and body.
func Text(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// Hang does not answer until the client gives up or release is closed; then it
// cuts the connection. A nil release is never closed.
func Hang(release <-chan struct{}) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	}
}

// Cut closes the connection without an answer.
func Cut(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// CutShort closes the connection in the middle of the answer.
func CutShort(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, `{"openid":"`)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// Echo answers with an error message that repeats the whole request, as a
// careless platform might: whoever logs it logs the secret.
func Echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	text := r.URL.RawQuery + " " + strings.Join([]string{r.URL.Query().Get("secret"), r.URL.Query().Get("js_code"), string(body)}, " ")
	write(w, map[string]any{"errcode": 40029, "errmsg": text, "err_no": 40018, "err_tips": text})
}
