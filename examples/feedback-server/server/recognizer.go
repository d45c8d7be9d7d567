package server

import (
	"context"
	"fmt"
	"log/slog"
	"os/exec"

	"lessonkit.example/asr"
	"lessonkit.example/asr/cloud"
	"lessonkit.example/asr/local"
)

func newRecognizer(c Config, traces *tracing, log *slog.Logger) (asr.Recognizer, error) {
	if c.ASRProvider == "cloud" {
		return cloud.New(cloud.Config{
			FFmpeg:         c.converter(),
			AppID:          c.CloudASRAppID,
			SecretID:       c.CloudASRSecretID,
			SecretKey:      c.CloudASRSecretKey,
			EngineType:     c.CloudASREngineType,
			Mode:           cloud.Mode(c.CloudASRMode),
			APIURL:         c.CloudASRAPIURL,
			RequestTimeout: c.ASRRequestTimeout,
			TimeoutFactor:  c.ASRTimeoutFactor,
			MinTimeout:     c.ASRMinTimeout,
			Concurrency:    c.ASRWorkerConcurrency,
			Logger:         log,
		})
	}
	if c.LocalASRURL == "" {
		log.Warn("recordings wait: " + noRecognizerReason)
		return noRecognizer{}, nil
	}
	r, err := local.New(local.Config{
		FFmpeg:         c.converter(),
		URL:            c.LocalASRURL,
		Model:          c.LocalASRModel,
		APIKey:         c.LocalASRAPIKey,
		Segments:       true, // their times show pauses, which end sentences
		RequestTimeout: c.ASRRequestTimeout,
		TimeoutFactor:  c.ASRTimeoutFactor,
		MinTimeout:     c.ASRMinTimeout,
		Concurrency:    c.ASRWorkerConcurrency,
		Transport:      traces.transport(local.NewTransport()),
		Logger:         log,
	})
	if err != nil {
		return nil, fmt.Errorf("LOCAL_ASR_URL and the others of LOCAL_ASR_: %w", err)
	}
	return r, nil
}

// converter returns the program that converts recordings before they are sent, or "". Without a
// setting they are converted where ffmpeg is installed: whisper.cpp does not decode what phones
// record, the cloud not what some browsers do.
func (c Config) converter() string {
	const program = "ffmpeg"
	if c.LocalASRConvert == nil || c.ASRProvider == "cloud" {
		if _, err := exec.LookPath(program); err != nil {
			return ""
		}
	} else if !*c.LocalASRConvert {
		return ""
	}
	return program
}

// noRecognizer is used if none is configured: recordings stay in the queue.
type noRecognizer struct{}

const noRecognizerReason = "no recogniser is configured: set LOCAL_ASR_URL, or ASR_PROVIDER=cloud with CLOUD_ASR_*"

func (noRecognizer) Recognize(context.Context, asr.Audio) (asr.Transcript, error) {
	return asr.Transcript{}, &asr.Error{Class: asr.ErrMisconfigured, Op: "recognize", Message: noRecognizerReason}
}

func (noRecognizer) Status(context.Context) asr.Status {
	return asr.Status{Provider: "local", Reason: noRecognizerReason}
}
