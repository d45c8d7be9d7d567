package command_test

import (
	"context"
	"errors"
	"fmt"

	"lessonkit.example/asr"
	"lessonkit.example/asr/command"
)

func Example() {
	rec, err := command.New(command.PocketSphinx())
	if err != nil {
		fmt.Println(err) // names the packages to install
		return
	}
	audio, err := asr.FromFile("no-such.wav")
	if err != nil {
		fmt.Println(err)
		return
	}
	t, err := rec.Recognize(context.Background(), audio)
	fmt.Println(t.Text, err)
}

// Any program that reads a WAV file and prints text is a recogniser.
func ExampleNew() {
	_, err := command.New(command.Config{
		Args:     []string{"my-recogniser", "--wav", "{input}", "--language", "{language}"},
		Parse:    command.JSON, // it prints {"text": "…"}
		Packages: []string{"my-recogniser"},
		FFmpeg:   "my-ffmpeg",
	})
	missing, _ := errors.AsType[*command.MissingError](err)
	fmt.Println(missing.Programs, missing.Packages)
	// Output: [my-recogniser my-ffmpeg] [my-recogniser ffmpeg]
}
