package server

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/feedback"
)

// Only an outage of the recogniser makes other recordings wait.
func TestARecordingHoldsItsTurnDuringAnOutageOnly(t *testing.T) {
	t.Parallel()
	outage := fmt.Errorf("not stored: %w", &asr.Error{Class: asr.ErrUnavailable})
	for name, c := range map[string]struct {
		kind feedback.TaskKind
		err  error
		want time.Duration
	}{
		"outage":              {feedback.TaskTranscribe, outage, time.Second},
		"success":             {feedback.TaskTranscribe, nil, 0},
		"language not known":  {feedback.TaskTranscribe, &asr.Error{Class: asr.ErrMisconfigured}, 0},
		"storage unavailable": {feedback.TaskTranscribe, &feedback.Error{Kind: feedback.ErrStorage}, 0},
		"other task":          {feedback.TaskDeleteAudio, errors.Join(outage), 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				holdTurn(t.Context(), feedback.Task{Kind: c.kind}, c.err, time.Second)
				require.Equal(t, c.want, time.Since(began))
			})
		})
	}
}
