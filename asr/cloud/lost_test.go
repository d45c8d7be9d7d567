package cloud_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/cloud"
)

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
				require.ErrorContains(t, err, "it is not ready again")
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

// withAudio returns the requests that contained a recording.
func withAudio(flash *asrtest.Server, api *apiServer) (requests []asrtest.Request) {
	for _, r := range append(flash.Requests(), api.Requests()...) {
		if r.Size > 1000 {
			requests = append(requests, r)
		}
	}
	return requests
}
