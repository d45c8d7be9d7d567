package asr_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lessonkit.example/asr"
)

// The methods of an error tell what to do.
func Example() {
	var rec asr.Recognizer = recognizer{}
	for _, recording := range []string{"RIFF…", ""} {
		t, err := rec.Recognize(context.Background(), asr.FromBytes("a.wav", []byte(recording)))
		e, _ := errors.AsType[*asr.Error](err)
		switch {
		case err == nil:
			fmt.Println(t.Text)
		case e != nil && e.Permanent():
			fmt.Println("failed:", e.PublicText())
		case e != nil && e.RetryAfter() > 0:
			fmt.Println("retry in", e.RetryAfter())
		}
	}
	// Output:
	// good morning
	// failed: the audio cannot be used: it is empty
}

// recognizer stands for one of the subpackages.
type recognizer struct{}

func (recognizer) Recognize(_ context.Context, a asr.Audio) (asr.Transcript, error) {
	if a.Size == 0 {
		return asr.Transcript{}, &asr.Error{Class: asr.ErrUnusableAudio, Message: "it is empty"}
	}
	return asr.Transcript{Text: "good morning", Duration: 2 * time.Second}, nil
}

func (recognizer) Status(context.Context) asr.Status { return asr.Status{Available: true} }
