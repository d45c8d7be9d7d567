package fleet

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Recognizer returns a stand-in for a speech server. Its text for a recording names the recording
// and differs each time, so that a text shows what was recognised, and whether it was written once.
//
// If instead is not nil, it may answer a recording, whose SHA-256 it is given in hexadecimal, or a
// check of health with an empty hash, in place of the stand-in: then it returns true.
func Recognizer(instead func(w http.ResponseWriter, r *http.Request, hash string) bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {
		if instead == nil || !instead(w, r, "") {
			_, _ = io.WriteString(w, `{"status":"ok"}`)
		}
	})
	mux.HandleFunc("POST /v1/audio/transcriptions", func(w http.ResponseWriter, r *http.Request) {
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
		if instead == nil || !instead(w, r, hash) {
			_ = json.NewEncoder(w).Encode(map[string]string{"text": textOf(hash) + rand.Text() + "."})
		}
	})
	return mux
}

func hashOf(recording []byte) string {
	sum := sha256.Sum256(recording)
	return hex.EncodeToString(sum[:])
}

// textOf returns the beginning of the stand-in's text for the recording of a hash.
func textOf(hash string) string { return fmt.Sprintf("Recording %s, answer ", hash[:20]) }

// IsTextOf reports whether a text is the stand-in's for the recording of a hash.
func IsTextOf(text, hash string) bool { return strings.HasPrefix(text, textOf(hash)) }
