package server

import (
	"context"
	"database/sql"
	"fmt"
	"io"

	"lessonkit.example/asr"
	"lessonkit.example/auth/authhttp"
	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiodir"
	"lessonkit.example/feedback/feedbackhttp"
	feedbackstore "lessonkit.example/feedback/sqlstore"
	"lessonkit.example/feedback/summary"
	"lessonkit.example/internal/migrate"
)

func (s *Server) buildFeedback() error {
	if s.db.Engine == migrate.SQLite {
		s.bookDB = feedbackstore.NewSQLite(s.db.W, s.db.R, s.outbox)
	} else {
		s.bookDB = feedbackstore.NewPostgres(s.db.W, s.outbox)
	}
	audio, err := audiodir.New(s.config.AudioStorageDir)
	if err != nil {
		return fmt.Errorf("AUDIO_STORAGE_DIR: %w", err)
	}
	summarizer, err := s.summarizer()
	if err != nil {
		return err
	}
	s.feedback, err = feedback.New(feedback.Config{
		Store:          s.bookDB,
		Audio:          audio,
		Transcriber:    transcriber{s.speech},
		Summarizer:     summarizer,
		MaxAudioBytes:  s.config.AudioMaxBytes,
		StuckThreshold: 2 * s.config.ASRJobLease(),
		Logger:         s.log,
	})
	return err
}

// outbox makes a job of a task, in the transaction that made the task
// necessary: both are committed or neither.
func (s *Server) outbox(ctx context.Context, tx *sql.Tx, t feedback.Task) error {
	_, err := s.queue.enqueue(ctx, tx, jobOf(t))
	return err
}

// summarizer is the configured endpoint, over the summary made here.
func (s *Server) summarizer() (feedback.Summarizer, error) {
	local := summary.Extractive{}
	if s.config.SummaryAPIURL == "" {
		return local, nil
	}
	remote, err := summary.NewChat(summary.ChatConfig{
		URL:    s.config.SummaryAPIURL,
		Key:    s.config.SummaryAPIKey,
		Model:  s.config.SummaryModel,
		Logger: s.log,
	})
	if err != nil {
		return nil, fmt.Errorf("FEEDBACK_SUMMARY_API_URL: %w", err)
	}
	return summary.Fallback(remote, local, s.log), nil
}

func (s *Server) feedbackConfig() feedbackhttp.Config {
	return feedbackhttp.Config{Service: s.feedback, Authenticate: authhttp.Authenticate(s.auth)}
}

// transcriber lends a recogniser to the feedback service. Its errors pass
// unchanged: they tell by method what a queue should do.
type transcriber struct{ asr.Recognizer }

func (t transcriber) Transcribe(ctx context.Context, a feedback.Audio) (feedback.Transcript, error) {
	heard, err := t.Recognize(ctx, asr.Audio{
		Name:        a.Name,
		ContentType: a.ContentType,
		Size:        a.Size,
		Open:        func() (io.ReadCloser, error) { return a.Open() },
	})
	return feedback.Transcript{Text: heard.Text, Duration: heard.Duration}, err
}
