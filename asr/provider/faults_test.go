package provider_test

import (
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
		var f provider.Faults
		recording := func(n int) asr.Audio { return asr.Audio{Name: fmt.Sprint(n), Size: 1} }
		failure := &asr.Error{Op: "local", Status: 500, Message: "CUDA"}
		lost := &asr.Error{Op: "local", Class: asr.ErrLost}
		judge := func(n int, err error) *asr.Error {
			got, failing := f.Judge(recording(n), err)
			require.Equal(t, failing, got != err)
			if !failing {
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

// Recordings that stop a recogniser which is there again each time do not excuse one another.
func TestLostRecordingsAreNotTheFaultOfARecogniserThatAnswersInBetween(t *testing.T) {
	t.Parallel()
	var f provider.Faults
	for n := range 6 {
		lost := &asr.Error{Op: "local", Class: asr.ErrLost}
		err, failing := f.Judge(asr.Audio{Name: fmt.Sprint(n), Size: 1}, lost)
		require.False(t, failing)
		require.Equal(t, lost, err)
		f.Answered()
	}
}
