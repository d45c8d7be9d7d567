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
		Options:  map[string]string{"filter_dirty": "1"},
		FlashURL: server.URL, // not set for the real cloud
	})
	if err != nil {
		log.Fatal(err)
	}
	t, err := rec.Recognize(context.Background(), asr.FromBytes("lesson.wav", asrtest.WAV(time.Second)))
	fmt.Println(t.Text, t.Duration, t.Language, err)
	// Output: 早上好。 1s zh <nil>
}

// Without an AppID, tasks are the interface for long recordings. The name of a task is stored, so
// that a program that was restarted does not pay twice.
func ExampleConfig() {
	rec, err := cloud.New(cloud.Config{SecretID: "AKIDEXAMPLE", SecretKey: "key", Mode: cloud.Task})
	if err != nil {
		log.Fatal(err)
	}
	audio, err := asr.FromFile("lesson.mp3")
	if err != nil {
		fmt.Println(err)
		return
	}
	audio.Task = "" // the name that SaveTask has stored before, if any
	audio.SaveTask = func(ctx context.Context, name string) error {
		return nil // store the name with the recording
	}
	fmt.Println(rec.Recognize(context.Background(), audio))
	// Output: audio: stat lesson.mp3: no such file or directory
}
