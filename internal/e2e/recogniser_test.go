//go:build linux

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// recogniser is a speech server whose text for a recording is the recording's hash and the number
// of the answer: a segment's text shows which recording was recognised, and whether it was written
// once.
type recogniser struct {
	addr string

	mu     sync.Mutex
	server *http.Server // nil while it is down
	fault  fault
	models string         // the answer of /v1/models; 404 if ""
	asked  map[string]int // by hash: recordings that arrived whole
	heard  int            // recordings that were answered
}

// fault answers in place of the recogniser, or returns false to let it answer.
type fault func(w http.ResponseWriter, r *http.Request, hash string) bool

func newRecogniser(t *testing.T) *recogniser {
	rec := &recogniser{addr: freePort(t), asked: map[string]int{}}
	rec.up(t)
	t.Cleanup(rec.down)
	return rec
}

func (rec *recogniser) url() string { return "http://" + rec.addr }

func (rec *recogniser) up(t *testing.T) {
	t.Helper()
	var l net.Listener
	eventually(t, "the recogniser listens", func() bool {
		var err error // a process that is just being forked may still hold the port
		l, err = net.Listen("tcp", rec.addr)
		return err == nil
	})
	s := &http.Server{Handler: rec, ReadHeaderTimeout: time.Minute}
	rec.mu.Lock()
	rec.server = s
	rec.mu.Unlock()
	go s.Serve(l)
}

// down ends the recogniser and every connection to it.
func (rec *recogniser) down() {
	rec.mu.Lock()
	s := rec.server
	rec.server = nil
	rec.mu.Unlock()
	if s != nil {
		s.Close()
	}
}

// behave sets the fault; nil ends it.
func (rec *recogniser) behave(f fault) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.fault = f
}

// list sets the answer of /v1/models.
func (rec *recogniser) list(models string) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.models = models
}

// counts returns how many recordings arrived, how many of them were different, and how many were
// answered.
func (rec *recogniser) counts() (asked, different, heard int) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	for _, n := range rec.asked {
		asked += n
	}
	return asked, len(rec.asked), rec.heard
}

func (rec *recogniser) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "GET /health":
		rec.mu.Lock()
		f := rec.fault
		rec.mu.Unlock()
		if f == nil || !f(w, r, "") {
			io.WriteString(w, `{"status":"ok"}`)
		}
	case "GET /v1/models":
		rec.mu.Lock()
		models := rec.models
		rec.mu.Unlock()
		if models == "" {
			http.NotFound(w, r)
		}
		io.WriteString(w, models)
	case "POST /v1/audio/transcriptions":
		rec.transcribe(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (rec *recogniser) transcribe(w http.ResponseWriter, r *http.Request) {
	file, _, err := r.FormFile("file")
	if err != nil {
		http.Error(w, `{"error":"no file"}`, http.StatusBadRequest)
		return
	}
	audio, err := io.ReadAll(file)
	if err != nil {
		return
	}
	hash := hashOf(audio)
	rec.mu.Lock()
	rec.asked[hash]++
	f := rec.fault
	rec.mu.Unlock()
	if f != nil && f(w, r, hash) {
		return
	}
	// Recognition takes a while, so that faults hit it.
	select {
	case <-time.After(rand.N(40 * time.Millisecond)):
	case <-r.Context().Done():
		return
	}
	rec.mu.Lock()
	rec.heard++
	n := rec.heard
	rec.mu.Unlock()
	json.NewEncoder(w).Encode(map[string]string{"text": fmt.Sprintf("%s as answer %d.", heardOf(hash), n)})
}

func hashOf(audio []byte) string {
	sum := sha256.Sum256(audio)
	return hex.EncodeToString(sum[:])
}

// heardOf returns the beginning of a recording's text.
func heardOf(hash string) string { return "heard " + hash[:20] }

// heardRight reports whether text is the recogniser's text for a recording.
func heardRight(text, hash string) bool { return strings.HasPrefix(text, heardOf(hash)+" as answer ") }
