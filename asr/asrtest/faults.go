package asrtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
)

// want is what a client must make of a fault.
type want struct {
	class     error // nil: an ordinary failure, which counts an attempt
	permanent bool
	after     time.Duration // at least this; 0: none
}

// none is an ordinary failure.
func none() want { return want{} }

func unavailable(after time.Duration) want {
	return want{class: asr.ErrUnavailable, after: max(after, time.Second)}
}

// RunFaults checks what a client makes of the faults of a dialect. connect makes a client of the server at url that gives up on a
// request after timeout.
func RunFaults(t *testing.T, d Dialect, connect func(t testing.TB, url string, timeout time.Duration) asr.Recognizer) {
	misconfigured := want{class: asr.ErrMisconfigured, after: time.Second}
	unusable := want{class: asr.ErrUnusableAudio, permanent: true}
	rules := d.rules()
	cases := []struct {
		fault Fault
		want  want
		skip  bool
	}{
		{fault: Busy, want: unavailable(7 * time.Second)},
		{fault: BusyDate, want: unavailable(30 * time.Minute)},
		{fault: Gateway, want: unavailable(0)},
		{fault: GatewaySlow, want: unavailable(3 * time.Second)}, // as long as the recording
		{fault: Reset, want: unavailable(0)},
		{fault: Hang, want: unavailable(3 * time.Second)},
		{fault: Redirect, want: misconfigured},
		{fault: Unauthorized, want: misconfigured},
		{fault: TooLarge, want: unusable},
		{fault: Failure, want: none()},
		{fault: ErrorIn200, want: none()},
		{fault: HTML, want: none()},
		{fault: Cut, want: none()},
		{fault: NoText, want: none()},
		{fault: Endlessly, want: none()},
		{fault: Unprocessed, want: unusable, skip: d == FunASRRuntime || d == Flash || d == API3},
		{fault: Gone, want: misconfigured, skip: d == FunASRRuntime || d == Flash || d == API3},
		{fault: NoModel, want: misconfigured, skip: !rules.needModel || d == Flash || d == API3},
	}
	if d == API3 {
		for i := range cases {
			switch cases[i].fault {
			case Failure, HTML, Cut, Endlessly: // the SDK cannot tell them from a network that fails
				cases[i].want = unavailable(0)
			case ErrorIn200, NoText:
				cases[i].skip = true
			}
		}
	}
	if d == Flash {
		for i := range cases {
			switch cases[i].fault {
			case Failure:
				cases[i].want = unavailable(0) // HTTP 5xx
			case ErrorIn200:
				cases[i].want = unusable // 5002, twice
			}
		}
	}
	for _, c := range cases {
		if c.skip {
			continue
		}
		t.Run(string(c.fault), func(t *testing.T) {
			t.Parallel()
			s := NewServer(t, d)
			timeout := time.Minute
			if c.fault == Hang {
				timeout = 300 * time.Millisecond
			}
			rec := connect(t, s.URL, timeout)
			audio := asr.FromBytes("lesson.wav", WAV(3*time.Second))
			if c.fault != Hang {
				_, err := rec.Recognize(t.Context(), audio)
				require.NoError(t, err)
			}
			s.SetFault(c.fault)
			_, err := rec.Recognize(t.Context(), audio)
			check(t, err, c.want)
			if c.want.class == asr.ErrMisconfigured {
				st := rec.Status(t.Context())
				require.False(t, st.Available, "an operator must see it")
				require.NotEmpty(t, st.Reason)
			}
			s.SetFault(NoFault)
			if c.fault != Hang {
				_, err = rec.Recognize(t.Context(), audio)
				require.NoError(t, err, "it goes on by itself when the fault is gone")
				require.True(t, rec.Status(t.Context()).Available)
			}
		})
	}
	t.Run("refused connection", func(t *testing.T) {
		t.Parallel()
		s := NewServer(t, d)
		rec := connect(t, s.URL, time.Minute)
		s.Close()
		_, err := rec.Recognize(t.Context(), asr.FromBytes("lesson.wav", WAV(time.Second)))
		check(t, err, unavailable(0))
		require.False(t, rec.Status(t.Context()).Available)
	})
	t.Run("caller goes while the server hangs", func(t *testing.T) {
		t.Parallel()
		s := NewServer(t, d)
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

func check(t *testing.T, err error, w want) {
	t.Helper()
	require.Error(t, err)
	e, ok := errors.AsType[*asr.Error](err)
	require.True(t, ok, "%T: %v", err, err)
	if w.class != nil {
		require.ErrorIs(t, err, w.class)
	}
	require.Equal(t, w.class, e.Class, "%v", err)
	require.Equal(t, w.permanent, e.Permanent(), "%v", err)
	if w.after == 0 {
		require.Zero(t, e.RetryAfter(), "%v", err)
	} else {
		require.GreaterOrEqual(t, e.RetryAfter(), w.after, "%v", err)
	}
	require.Less(t, len(err.Error()), 1000)
}
