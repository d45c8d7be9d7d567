//go:build linux

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"lessonkit.example/examples/feedback-server/fleet"
)

// recogniser is the stand-in of package fleet, with faults.
type recogniser struct {
	addr    string
	standIn http.Handler

	mu     sync.Mutex
	server *http.Server // nil while it is down
	fault  fault
	asked  map[string]int // by hash: recordings that arrived whole
	heard  int            // recordings that were answered
}

// fault answers in place of the recogniser, or returns false to let it answer.
type fault func(w http.ResponseWriter, r *http.Request, hash string) bool

func newRecogniser(t *testing.T) *recogniser {
	rec := &recogniser{addr: freePort(t), asked: map[string]int{}}
	rec.standIn = fleet.Recognizer(rec.instead)
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
	s := &http.Server{Handler: rec.standIn, ReadHeaderTimeout: time.Minute}
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

// instead makes the fault.
func (rec *recogniser) instead(w http.ResponseWriter, r *http.Request, hash string) bool {
	rec.mu.Lock()
	f := rec.fault
	if hash != "" {
		rec.asked[hash]++
	}
	rec.mu.Unlock()
	if f != nil && f(w, r, hash) {
		return true
	}
	if hash == "" {
		return false
	}
	// Recognition takes a while, so that faults hit it.
	select {
	case <-time.After(rand.N(40 * time.Millisecond)):
	case <-r.Context().Done():
		return true
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.heard++
	return false
}

func hashOf(audio []byte) string {
	sum := sha256.Sum256(audio)
	return hex.EncodeToString(sum[:])
}
