package local_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/local"
)

// Transcribe a recording with a server on this machine.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseMultipartForm(1 << 20)
		fmt.Fprint(w, `{"text":" good morning\n","segments":[
			{"start":0,"end":0.5,"text":" good"},{"start":0.5,"end":1,"text":" morning"}]}`)
	}))
	defer server.Close()

	rec, err := local.New(local.Config{URL: server.URL, Segments: true}) // http://127.0.0.1:8080
	if err != nil {
		log.Fatal(err)
	}
	audio := asr.FromBytes("lesson.wav", asrtest.WAV(time.Second)) // or asr.FromFile("lesson.wav")
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
