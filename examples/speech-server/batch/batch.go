// Package batch transcribes files from a command line.
package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"

	"lessonkit.example/asr"
	"lessonkit.example/asr/audiofile"
)

// Transcribe prints the text of each file to stdout, and the progress to stderr.
func Transcribe(
	ctx context.Context, rec asr.Recognizer, files []string, language string, stdout, stderr io.Writer,
) error {
	var errs []error
	for i, path := range files {
		audio, err := asr.FromFile(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		audio.Language = language
		bar := progressbar.NewOptions64(max(length(path).Milliseconds(), 1),
			progressbar.OptionSetWriter(stderr),
			progressbar.OptionSetDescription(fmt.Sprintf("%d/%d %s", i+1, len(files), audio.Name)),
			progressbar.OptionSetWidth(30),
			progressbar.OptionSetElapsedTime(true),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionThrottle(100*time.Millisecond))
		audio.Progress = func(done time.Duration) { _ = bar.Set64(min(done.Milliseconds(), bar.GetMax64())) }
		_ = bar.RenderBlank()
		t, err := rec.Recognize(ctx, audio)
		_ = bar.Clear()
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
			continue
		}
		fmt.Fprintf(stderr, "%d/%d %s: %v of audio\n", i+1, len(files), path, t.Duration.Round(10*time.Millisecond))
		fmt.Fprintln(stdout, t.Text)
	}
	return errors.Join(errs...)
}

// length returns the duration of a recording, or 0 if it is unknown.
func length(path string) time.Duration {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	size, _ := f.Seek(0, io.SeekEnd)
	info, _ := audiofile.Inspect(f, size)
	return info.Duration
}
