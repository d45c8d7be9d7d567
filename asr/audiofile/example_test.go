package audiofile_test

import (
	"bytes"
	"fmt"

	"lessonkit.example/asr/audiofile"
)

func Example() {
	pcm := audiofile.PCM{Rate: 16000, Channels: 2}
	wav := append(pcm.Header(96000), make([]byte, 96000)...)
	info, err := audiofile.Inspect(bytes.NewReader(wav), int64(len(wav)))
	fmt.Println(info.Format, info.Format.ContentType(), info.Duration, err)
	// Output: wav audio/wav 1.5s <nil>
}
