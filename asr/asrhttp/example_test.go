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

// parrot is a recogniser in place of one of package asr/command or asr/local.
type parrot struct{}

func (parrot) Recognize(context.Context, asr.Audio) (asr.Transcript, error) {
	return asr.Transcript{Text: "good morning"}, nil
}

func (parrot) Status(context.Context) asr.Status { return asr.Status{Available: true, Model: "parrot"} }

func Example() {
	h, err := asrhttp.New(asrhttp.Config{Recognizer: parrot{}})
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
