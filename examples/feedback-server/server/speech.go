package server

import (
	"context"
	"fmt"
	"log/slog"

	"lessonkit.example/asr"
	"lessonkit.example/asr/cloud"
	"lessonkit.example/asr/local"
)

// newRecogniser builds the configured recogniser.
func newRecogniser(c Config, log *slog.Logger) (recogniser, error) {
	if c.ASRProvider == "cloud" {
		r, err := cloud.New(cloud.Config{
			AppID:          c.CloudASRAppID,
			SecretID:       c.CloudASRSecretID,
			SecretKey:      c.CloudASRSecretKey,
			EngineType:     c.CloudASREngineType,
			RequestTimeout: c.ASRRequestTimeout(),
			Concurrency:    c.ASRWorkerConcurrency,
			Logger:         log,
		})
		if err != nil {
			return nil, err
		}
		return idle{r}, nil
	}
	if c.LocalASRURL == "" {
		return idle{noRecogniser{}}, nil
	}
	r, err := local.New(local.Config{
		URL:            c.LocalASRURL,
		Model:          c.LocalASRModel,
		APIKey:         c.LocalASRAPIKey,
		RequestTimeout: c.ASRRequestTimeout(),
		Concurrency:    c.ASRWorkerConcurrency,
		Logger:         log,
	})
	if err != nil {
		return nil, fmt.Errorf("LOCAL_ASR_URL: %w", err)
	}
	return r, nil
}

// idle is a recogniser without background work.
type idle struct{ asr.Recognizer }

func (idle) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// noRecogniser stands where none is configured: audio waits in the queue.
type noRecogniser struct{}

const noRecogniserReason = "no recogniser is configured: set LOCAL_ASR_URL, or ASR_PROVIDER=cloud with CLOUD_ASR_*"

func (noRecogniser) Recognize(context.Context, asr.Audio) (asr.Transcript, error) {
	return asr.Transcript{}, &asr.Error{Class: asr.ErrMisconfigured, Op: "recognize", Message: noRecogniserReason}
}

func (noRecogniser) Status(context.Context) asr.Status {
	return asr.Status{Provider: "local", Reason: noRecogniserReason}
}
