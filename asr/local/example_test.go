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

// Transcribe a file with a server on this machine.
func Example() {
	server, file := exampleServer()
	defer os.Remove(file)
	defer server.Close()

	rec, err := local.New(local.Config{URL: server.URL, Segments: true}) // http://127.0.0.1:8080
	if err != nil {
		log.Fatal(err)
	}
	audio, err := asr.FromFile(file)
	if err != nil {
		log.Fatal(err)
	}
	t, err := rec.Recognize(context.Background(), audio)
	fmt.Println(t.Text, t.Duration, err)
	for _, s := range t.Segments {
		fmt.Println(s.Start, s.End, s.Text)
	}
	// Output:
	// good morning 1s <nil>
	// 0s 500ms good
	// 500ms 1s morning
}

// exampleServer starts a server and creates a recording.
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
		fmt.Fprint(w, `{"text":" good morning\n","segments":[
			{"start":0,"end":0.5,"text":" good"},{"start":0.5,"end":1,"text":" morning"}]}`)
	})
	return httptest.NewServer(mux), file.Name()
}
