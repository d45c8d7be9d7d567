package server

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"lessonkit.example/asr"
	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiodir"
	"lessonkit.example/feedback/audios3"
	"lessonkit.example/feedback/summary"
)

// newFeedback returns the service of lessons, recordings and feedback records.
func newFeedback(
	c Config, store feedback.Store, audio feedback.AudioStore, recognizer measuredRecognizer,
	traces *tracing, log *slog.Logger,
) (*feedback.Service, error) {
	summarizer, err := newSummarizer(c, traces, log)
	if err != nil {
		return nil, err
	}
	return feedback.New(feedback.Config{
		Store:         store,
		Audio:         audio,
		Transcriber:   transcriber{recognizer},
		Summarizer:    traces.summarizer(summarizer),
		MaxAudioBytes: c.AudioMaxBytes,
		Limits: feedback.Limits{
			Bytes: c.LimitBytes, Segments: c.LimitSegments, Sessions: c.LimitSessions, Summaries: c.LimitSummaries,
		},
		RetryDelays:    c.ASRRetryDelays,
		StuckThreshold: 2 * c.ASRJobLease,
		Logger:         log,
	})
}

// newAudio returns the configured store of recordings: a bucket, which it does not connect to yet,
// or a directory, which it creates.
func newAudio(c Config) (feedback.AudioStore, error) {
	converted := c.ASRProvider == "local" && c.LocalASRConvert
	if c.AudioStorageURL != "" {
		audio, err := audios3.New(audios3.Config{
			URL:             c.AudioStorageURL,
			AccessKeyID:     c.AWSAccessKeyID,
			SecretAccessKey: c.AWSSecretAccessKey,
			SessionToken:    c.AWSSessionToken,
			Converted:       converted,
		})
		if err != nil {
			return nil, fmt.Errorf("AUDIO_STORAGE_URL: %w", err)
		}
		return audio, nil
	}
	audio, err := audiodir.New(cmp.Or(c.AudioStorageDir, "lessonkit-data/audio"))
	if err != nil {
		return nil, fmt.Errorf("AUDIO_STORAGE_DIR: %w", err)
	}
	audio.Reserve = c.AudioReserve
	audio.Converted = converted
	return audio, nil
}

// newSummarizer returns a client of the configured endpoint, which falls back to summaries made in
// this process. Without an endpoint all summaries are made in this process.
func newSummarizer(c Config, traces *tracing, log *slog.Logger) (feedback.Summarizer, error) {
	local := summary.Extractive{}
	if c.SummaryAPIURL == "" {
		return local, nil
	}
	remote, err := summary.NewChat(summary.ChatConfig{
		URL:    c.SummaryAPIURL,
		APIKey: c.SummaryAPIKey,
		Model:  c.SummaryModel,
		Client: &http.Client{Transport: traces.transport(http.DefaultTransport)},
		Logger: log,
	})
	if err != nil {
		return nil, fmt.Errorf("FEEDBACK_SUMMARY_API_URL: %w", err)
	}
	return summary.Fallback(remote, local, log), nil
}

// transcriber adapts a recognizer to the feedback service. It returns the recognizer's errors
// unchanged: their methods tell the queue when to retry.
type transcriber struct{ measuredRecognizer }

func (t transcriber) Transcribe(ctx context.Context, a feedback.Audio) (feedback.Transcript, error) {
	transcript, err := t.Recognize(ctx, asr.Audio{
		Name:        a.Name,
		ContentType: a.ContentType,
		Language:    a.Language,
		Words:       a.Words,
		Size:        a.Size,
		Open:        func() (io.ReadCloser, error) { return a.Open() },
		Task:        a.Task,
		SaveTask:    a.SaveTask,
	})
	if err == nil {
		t.wait.Observe(time.Since(a.UploadedAt).Seconds())
	}
	return feedback.Transcript{
		Text: withPauses(transcript), Language: transcript.Language, Duration: transcript.Duration,
	}, err
}

// minPause is the shortest pause that ends a sentence.
const minPause = 500 * time.Millisecond

// withPauses returns the text of a transcript, with line breaks where the speaker pauses if the
// recognizer tells the times and does not end sentences.
func withPauses(t asr.Transcript) string {
	if len(t.Segments) == 0 || strings.ContainsAny(t.Text, ".!?。！？") {
		return t.Text
	}
	var lines []string
	for start := 0; start < len(t.Segments); {
		end := start + 1
		for end < len(t.Segments) && t.Segments[end].Start-t.Segments[end-1].End < minPause {
			end++
		}
		lines = append(lines, asr.JoinSegments(t.Segments[start:end]))
		start = end
	}
	return strings.Join(lines, "\n")
}
