package server

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"time"
	"unicode/utf8"

	"lessonkit.example/asr"
	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiodir"
	"lessonkit.example/feedback/audios3"
	"lessonkit.example/feedback/summary"
)

// newFeedback returns the service of lessons, recordings and feedback records.
func newFeedback(
	c Config, store feedback.Store, audio feedback.AudioStore, recognizer measuredRecognizer,
	paused func(context.Context) bool, traces *tracing, log *slog.Logger,
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
		Paused:        paused,
		MaxAudioBytes: c.AudioMaxBytes,
		Limits: feedback.Limits{
			Bytes: c.LimitBytes, Segments: c.LimitSegments, Sessions: c.LimitSessions, Summaries: c.LimitSummaries,
			TextBytes: c.LimitTextBytes, TextRows: c.LimitTextRows,
		},
		RetryDelays:    c.ASRRetryDelays,
		StuckThreshold: 2 * c.ASRJobLease,
		Logger:         log,
	})
}

const defaultAudioDir = "lessonkit-data/audio"

// newAudio returns the configured store of recordings: a bucket, which it does not connect to yet,
// or a directory, which it creates.
func newAudio(c Config) (feedback.AudioStore, error) {
	converted := c.converter() != ""
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
	audio, err := audiodir.New(cmp.Or(c.AudioStorageDir, defaultAudioDir))
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
	local := summary.Local{}
	if c.SummaryAPIURL == "" {
		return local, nil
	}
	prompt, err := readPrompt(c.SummaryPromptFile)
	if err != nil {
		return nil, fmt.Errorf("FEEDBACK_SUMMARY_PROMPT_FILE: %w", err)
	}
	remote, err := summary.NewChat(summary.ChatConfig{
		URL:    c.SummaryAPIURL,
		APIKey: c.SummaryAPIKey,
		Model:  c.SummaryModel,
		Prompt: prompt,
		Client: &http.Client{Transport: traces.transport(http.DefaultTransport)},
		Logger: log,
	})
	if err != nil {
		return nil, fmt.Errorf("FEEDBACK_SUMMARY_API_URL: %w", err)
	}
	return summary.Fallback(remote, local, log), nil
}

// readPrompt returns the text of a file, or "" without a name.
func readPrompt(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	text, err := os.ReadFile(name)
	switch {
	case err != nil:
		return "", err
	case len(bytes.TrimSpace(text)) == 0 || len(text) > summary.MaxPrompt || !utf8.Valid(text):
		return "", fmt.Errorf("%s must be a text in UTF-8 of at most %d bytes", name, summary.MaxPrompt)
	}
	return string(text), nil
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
	out := feedback.Transcript{
		Text: transcript.Punctuated(), Duration: transcript.Duration, HeaderDuration: transcript.HeaderDuration,
	}
	for _, s := range transcript.Sentences() {
		out.Sentences = append(out.Sentences, feedback.Sentence(s))
	}
	return out, err
}
