package command_test

import (
	"fmt"

	"lessonkit.example/asr/command"
)

func ExampleNew() {
	_, err := command.New(command.Config{
		Args:     []string{"my-recogniser", "--wav", "{input}", "--lang", "{language}"},
		FFmpeg:   "my-ffmpeg",
		Packages: []string{"my-recogniser"},
	})
	fmt.Println(err)
	// Output: missing for speech recognition: my-recogniser, my-ffmpeg; on Debian: apt-get install --no-install-recommends my-recogniser ffmpeg
}
