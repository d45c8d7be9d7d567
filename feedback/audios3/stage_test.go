package audios3

import (
	"bytes"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// slowUpload is a reader that takes time before its content.
type slowUpload struct {
	io.Reader
	takes time.Duration
}

func (r *slowUpload) Read(p []byte) (int, error) {
	time.Sleep(r.takes)
	r.takes = 0
	return r.Reader.Read(p)
}

// A slow mobile network may take hours for a recording. A listing discards what is left afterwards.
func TestTheAgeOfAnUploadCountsFromItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{URL: "s3://bucket", AccessKeyID: "key", SecretAccessKey: "secret"})
		require.NoError(t, err)
		a, err := s.stage(t.Context(), &slowUpload{bytes.NewReader([]byte("#!AMR\n…")), 2 * time.Hour}, 1<<20)
		require.NoError(t, err)
		require.NoError(t, s.discardStaged(time.Now().Add(-time.Hour)))
		require.NotNil(t, a.f, "just received")
		time.Sleep(2 * time.Hour)
		require.NoError(t, s.discardStaged(time.Now().Add(-time.Hour)))
		require.Nil(t, a.f)
	})
}
