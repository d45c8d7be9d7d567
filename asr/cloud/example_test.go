package cloud_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/cloud"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"code":0,"audio_duration":1000,"flash_result":[{"text":"早上好。"}]}`)
	}))
	defer server.Close()

	rec, err := cloud.New(cloud.Config{
		AppID: "1250000000", SecretID: "AKIDEXAMPLE", SecretKey: "key",
		FlashURL: server.URL, // not set for the real cloud
	})
	if err != nil {
		log.Fatal(err)
	}
	t, err := rec.Recognize(context.Background(), asr.FromBytes("lesson.wav", asrtest.WAV(time.Second)))
	fmt.Println(t.Text, t.Duration, t.Language, err)
	// Output: 早上好。 1s zh <nil>
}
