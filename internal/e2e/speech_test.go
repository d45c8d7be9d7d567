//go:build linux

package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// slowSpeech is a recogniser that signals the first recording and answers when released.
type slowSpeech struct {
	*httptest.Server
	started chan struct{} // closed when the first recording has arrived
	release chan struct{} // answers when closed
}

func newSlowSpeech(t *testing.T) *slowSpeech {
	s := &slowSpeech{started: make(chan struct{}), release: make(chan struct{})}
	var once sync.Once
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter,
		_ *http.Request) {
		io.WriteString(w, `{"status":"ok"}`)
	})
	mux.HandleFunc("POST /v1/audio/transcriptions", func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(1 << 20); err != nil || r.MultipartForm.File["file"] == nil {
			http.Error(w, `{"error":"no file"}`, http.StatusBadRequest)
			return
		}
		once.Do(func() { close(s.started) })
		select {
		case <-s.release:
			io.WriteString(w, `{"text":" heard\n"}`)
		case <-r.Context().Done():
		}
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}
