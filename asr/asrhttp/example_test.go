package asrhttp_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrhttp"
)

func Example() {
	h, err := asrhttp.New(asrhttp.Config{Recognizer: recognizer{
		status: asr.Status{Available: true, Model: "pocketsphinx-en-us"},
		f: func(context.Context, asr.Audio) (asr.Transcript, error) {
			return asr.Transcript{Text: "good morning"}, nil
		},
	}})
	if err != nil {
		log.Fatal(err)
	}
	w := httptest.NewRecorder()
	body := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\nRIFF…\r\n--b--\r\n"
	r := httptest.NewRequest(http.MethodPost, "/v1/audio/transcriptions", strings.NewReader(body))
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	h.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Body)
	// Output: 200 {"text":"good morning","usage":{"seconds":0,"type":"duration"}}
}
