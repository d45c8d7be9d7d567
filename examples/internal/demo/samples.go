package demo

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

//go:generate sh speech/make.sh

// speech contains two spoken lessons in the format of the mini program's recorder: MP3, 16 kHz,
// mono. speech/make.sh contains their text.
//
//go:embed speech/*.mp3
var speech embed.FS

// sample is the audio of one segment.
type sample struct {
	name string
	data []byte
}

// sampleLessons returns the segments of the spoken lessons, in order.
func sampleLessons() ([][]sample, error) {
	var lessons [][]sample
	for n := 1; ; n++ {
		names, err := fs.Glob(speech, fmt.Sprintf("speech/lesson%d-*.mp3", n)) // sorted by name
		if err != nil || len(names) == 0 {
			return lessons, err
		}
		var segments []sample
		for _, name := range names {
			data, err := speech.ReadFile(name)
			if err != nil {
				return nil, err
			}
			segments = append(segments, sample{name: path.Base(name), data: data})
		}
		lessons = append(lessons, segments)
	}
}

// recordedLesson returns one lesson with a segment for each file.
func recordedLesson(files []string) ([][]sample, error) {
	var segments []sample
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		segments = append(segments, sample{name: filepath.Base(file), data: data})
	}
	return [][]sample{segments}, nil
}
