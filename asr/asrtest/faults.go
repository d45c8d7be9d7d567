package asrtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
)

// Outcome is how a client should report a fault.
type Outcome struct {
	// Class is the class of the error; nil means an ordinary failure, which counts as an attempt.
	Class error
	// RetryAfter is the minimum of the error's RetryAfter; 0 means exactly 0.
	RetryAfter time.Duration
}

// Outcomes returns how a client should report the faults of a server that speaks the dialect. For
// "", these are the faults that are the same for every server.
func Outcomes(d Dialect) map[Fault]Outcome {
	misconfigured := Outcome{asr.ErrMisconfigured, time.Second}
	lost := Outcome{Class: asr.ErrLost}
	unusable := Outcome{Class: asr.ErrUnusableAudio}
	failure := Outcome{}
	outcomes := map[Fault]Outcome{
		Busy:         {asr.ErrUnavailable, 7 * time.Second},
		BusyDate:     {asr.ErrUnavailable, 30 * time.Minute},
		Gateway:      lost,
		GatewaySlow:  lost,
		Reset:        lost,
		Hang:         lost,
		Redirect:     misconfigured,
		Unauthorized: misconfigured,
		TooLarge:     unusable,
		Failure:      failure,
		ErrorIn200:   failure,
		HTML:         failure,
		Cut:          failure,
		NoText:       failure,
		Endlessly:    failure,
	}
	if d != "" && d != FunASRRuntime {
		outcomes[Unprocessed], outcomes[Gone] = unusable, misconfigured
	}
	if d != "" && d.rules().needModel {
		outcomes[NoModel] = misconfigured
	}
	return outcomes
}

// RunFaults tests how a client reports faults, and that it takes the server for the cause when
// three different recordings have failed in a row, as provider.Base does. start starts a server,
// and connect returns a client of the server at url whose requests time out after timeout.
func RunFaults(
	t *testing.T, start func(testing.TB) *Server, outcomes map[Fault]Outcome,
	connect func(t testing.TB, url string, timeout time.Duration) asr.Recognizer,
) {
	for _, fault := range slices.Sorted(maps.Keys(outcomes)) {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			s, want := start(t), outcomes[fault]
			timeout := time.Minute
			if fault == Hang {
				timeout = 5 * time.Second
			}
			rec := connect(t, s.URL, timeout)
			audio := asr.FromBytes("lesson.wav", WAV(3*time.Second))
			_, err := rec.Recognize(t.Context(), audio)
			require.NoError(t, err)
			s.SetFault(fault)
			_, err = rec.Recognize(t.Context(), audio)
			want.check(t, err)
			if want.Class == asr.ErrMisconfigured {
				st := rec.Status(t.Context())
				require.False(t, st.Available, "an operator must act")
				require.NotEmpty(t, st.Reason)
			}
			s.SetFault(NoFault)
			if fault != Hang {
				_, err = rec.Recognize(t.Context(), audio)
				require.NoError(t, err, "the client recovers when the fault has gone")
				require.True(t, rec.Status(t.Context()).Available)
			}
		})
	}
	for _, fault := range []Fault{Failure, HTML} {
		if want, ok := outcomes[fault]; !ok || want.Class != nil {
			continue
		}
		t.Run("a server that fails with every recording/"+string(fault), func(t *testing.T) {
			t.Parallel()
			s := start(t)
			rec := connect(t, s.URL, time.Minute)
			s.SetFault(fault)
			var err error
			for i := range 3 {
				audio := asr.FromBytes(fmt.Sprintf("lesson%d.wav", i), WAV(time.Duration(i+1)*time.Second))
				_, err = rec.Recognize(t.Context(), audio)
				require.Error(t, err)
			}
			Outcome{asr.ErrUnavailable, time.Second}.check(t, err) // see provider.Base
			require.False(t, rec.Status(t.Context()).Available)
		})
	}
	t.Run("refused connection", func(t *testing.T) {
		t.Parallel()
		s := start(t)
		rec := connect(t, s.URL, time.Minute)
		s.Close()
		_, err := rec.Recognize(t.Context(), asr.FromBytes("lesson.wav", WAV(time.Second)))
		Outcome{asr.ErrUnavailable, time.Second}.check(t, err)
		require.False(t, rec.Status(t.Context()).Available)
	})
	t.Run("cancellation while the server hangs", func(t *testing.T) {
		t.Parallel()
		s := start(t)
		rec := connect(t, s.URL, time.Minute)
		audio := asr.FromBytes("lesson.wav", WAV(time.Second))
		_, err := rec.Recognize(t.Context(), audio)
		require.NoError(t, err)
		s.SetFault(Hang)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err = rec.Recognize(ctx, audio)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, ok := errors.AsType[*asr.Error](err)
		require.False(t, ok, "%v", err)
	})
}

func (o Outcome) check(t *testing.T, err error) {
	t.Helper()
	e, ok := errors.AsType[*asr.Error](err)
	require.True(t, ok, "%T: %v", err, err)
	require.Equal(t, o.Class, e.Class, "%v", err)
	require.Equal(t, o.Class == asr.ErrUnusableAudio, e.Permanent(), "%v", err)
	if o.RetryAfter == 0 {
		require.Zero(t, e.RetryAfter(), "%v", err)
	} else {
		require.GreaterOrEqual(t, e.RetryAfter(), o.RetryAfter, "%v", err)
	}
	require.Less(t, len(err.Error()), 1000)
}
