package command_test

import (
	"context"
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
