package provider_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/provider"
)

func TestDifferentRecordingsThatFailInARowAreTheFaultOfTheRecogniser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		base := provider.NewBase(provider.BaseConfig{Op: "local"})
		recording := func(n int) asr.Audio { return asr.Audio{Name: fmt.Sprint(n), Size: 1} }
		failure := &asr.Error{Op: "local", Status: 500, Message: "CUDA"}
		lost := &asr.Error{Op: "local", Class: asr.ErrLost}
		judge := func(n int, err error) *asr.Error {
			_, got := base.Recognize(t.Context(), recording(n), func(context.Context) (asr.Transcript, error) {
				return asr.Transcript{}, err
			})
			if got == err {
				return nil
			}
			require.ErrorIs(t, got, asr.ErrUnavailable)
			require.ErrorContains(t, got, "the last 3 different recordings have failed")
			return got.(*asr.Error)
		}
		for range 5 {
			require.Nil(t, judge(1, failure), "the same recording again and again is the fault of the recording")
		}
		require.Nil(t, judge(2, lost))
		for n := range 3 {
			refused := &asr.Error{Class: asr.ErrUnavailable, Status: 503}
			require.Nil(t, judge(10+n, refused), "busy is not a fault")
			require.Nil(t, judge(20+n, &asr.Error{Message: "disk gone"}), "nor is audio that cannot be read")
		}
		first := judge(3, failure)
		require.NotNil(t, first)
		require.ErrorContains(t, first, "CUDA")
		require.Equal(t, 15*time.Second, first.RetryAfter())
		time.Sleep(4 * time.Minute)
		require.Equal(t, 4*time.Minute, judge(1, lost).RetryAfter(), "as long as the outage has lasted")
		time.Sleep(time.Hour)
		require.Equal(t, 10*time.Minute, judge(4, failure).RetryAfter())

		require.Nil(t, judge(4, nil), "a success ends the outage")
		require.Nil(t, judge(1, failure))
		require.Nil(t, judge(2, failure))
		require.Nil(t, judge(5, &asr.Error{Class: asr.ErrUnusableAudio, Status: 400}), "so does a refusal")
		require.Nil(t, judge(3, failure))
	})
}

func TestTimeLimitFollowsTheDuration(t *testing.T) {
	t.Parallel()
	base := provider.NewBase(provider.BaseConfig{Op: "local"})
	for duration, want := range map[time.Duration]time.Duration{
		0: 30 * time.Minute, time.Second: 5 * time.Minute, 31 * time.Second: 310 * time.Second,
		2 * time.Minute: 20 * time.Minute, time.Hour: 30 * time.Minute, 1 << 62: 30 * time.Minute,
	} {
		require.Equal(t, want, base.TimeLimit(duration), duration)
	}
	short := provider.NewBase(provider.BaseConfig{Op: "local", Timeout: time.Second})
	require.Equal(t, time.Second, short.TimeLimit(time.Minute), "the longest wins")
}
