package local_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/local"
)

// Transcribe a file with a server on this machine: its address is all that is needed.
func Example() {
	server, file := exampleServer()
	defer os.Remove(file)
	defer server.Close()

	rec, err := local.New(local.Config{URL: server.URL}) // such as http://127.0.0.1:8080
	if err != nil {
		log.Fatal(err)
	}
	audio, err := asr.FromFile(file)
	if err != nil {
		log.Fatal(err)
	}
	t, err := rec.Recognize(context.Background(), audio)
	fmt.Println(t.Text, t.Duration, err)
	// Output: good morning 1s <nil>
}

// exampleServer stands for a recogniser, and for a recording.
func exampleServer() (*httptest.Server, string) {
	file, err := os.CreateTemp("", "lesson-*.wav")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	_, _ = file.Write(asrtest.WAV(time.Second))
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/audio/transcriptions", func(w http.ResponseWriter, r *http.Request) {
		if _, _, err := r.FormFile("file"); err != nil {
			http.Error(w, "no file", http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, `{"text":" good morning\n"}`)
	})
	return httptest.NewServer(mux), file.Name()
}
