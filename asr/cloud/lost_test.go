package cloud_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/cloud"
)

// Three and more recordings that the cloud is lost with each time, and no others, remain suspect,
// so that they fail in the end: it answers requests without audio in between.
func TestRecordingsThatTheCloudIsLostWithDoNotExcuseOneAnother(t *testing.T) {
	t.Parallel()
	for _, mode := range []cloud.Mode{cloud.Flash, cloud.Task} {
		for _, loss := range []asrtest.Fault{asrtest.Reset, asrtest.Gateway} {
			t.Run(fmt.Sprint(mode, " ", loss), func(t *testing.T) {
				t.Parallel()
				flash, api := newFlash(t), newAPI(t)
				rec := connect(t, account(flash, api, mode))
				setFault := func(f asrtest.Fault) {
					flash.SetFault(f)
					api.SetFault(f)
				}
				for range 5 {
					for n := range 4 {
						setFault(asrtest.NoFault)
						recording := asr.FromBytes(fmt.Sprint(n), asrtest.WAV(time.Second))
						// The cloud answers until it reads this recording.
						open := recording.Open
						recording.Open = func() (r io.ReadCloser, err error) {
							setFault(loss)
							return open()
						}
						_, err := rec.Recognize(t.Context(), recording)
						require.ErrorIs(t, err, asr.ErrLost)
						require.True(t, err.(*asr.Error).Suspect())
						require.Zero(t, err.(*asr.Error).RetryAfter())
					}
				}
				setFault(asrtest.NoFault)
				_, err := recognize(t, rec)
				require.NoError(t, err)
			})
		}
	}
}

// While the cloud does not answer requests without audio, no recording is sent.
func TestAfterALostRecordingTheCloudIsAskedBeforeTheNext(t *testing.T) {
	t.Parallel()
	for _, mode := range []cloud.Mode{cloud.Flash, cloud.Task} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			flash, api := newFlash(t), newAPI(t)
			rec := connect(t, account(flash, api, mode))
			flash.SetFault(asrtest.Reset)
			api.SetFault(asrtest.Reset)
			_, err := recognize(t, rec)
			require.ErrorIs(t, err, asr.ErrLost)
			before := len(withAudio(flash, api))
			for range 3 {
				_, err = recognize(t, rec)
				require.ErrorIs(t, err, asr.ErrUnavailable)
				require.ErrorContains(t, err, "no answer since a recording was lost")
				require.NotErrorIs(t, err, asr.ErrLost, "this recording was not sent")
				require.Equal(t, "recogniser_unavailable", err.(*asr.Error).PublicCode())
			}
			require.Len(t, withAudio(flash, api), before, "no recording was sent")
			flash.SetFault(asrtest.NoFault)
			api.SetFault(asrtest.NoFault)
			_, err = recognize(t, rec)
			require.NoError(t, err)
		})
	}
}

// A caller that gives up has not lost the cloud: it is not asked before the next recording.
func TestCancellationIsNotALostRecording(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var requests atomic.Int64
	flash := asrtest.NewCustomServer(t, func(s *asrtest.Server, w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) > 1 {
			serveFlash(s, w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	})
	rec := connect(t, account(flash, nil, cloud.Flash))
	_, err := rec.Recognize(ctx, asr.FromBytes("a", asrtest.WAV(time.Second)))
	require.ErrorIs(t, err, context.Canceled)
	_, err = recognize(t, rec)
	require.NoError(t, err)
	require.EqualValues(t, 2, requests.Load(), "each recording once")
}

// withAudio returns the requests that contained a recording.
func withAudio(flash *asrtest.Server, api *apiServer) (requests []asrtest.Request) {
	for _, r := range append(flash.Requests(), api.Requests()...) {
		if r.Size > 1000 {
			requests = append(requests, r)
		}
	}
	return requests
}
