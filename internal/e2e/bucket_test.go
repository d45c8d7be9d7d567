//go:build linux

package e2e

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/s3test"
)

var audio = flag.String("audio", "directory", "where services keep recordings: in a directory or a bucket")

// useBucket moves the recordings of a service from its directory to a new bucket.
func (s *service) useBucket(t *testing.T) {
	t.Helper()
	if s.bucketDir != "" {
		return // by the flag
	}
	server := s3test.Start(t)
	s.bucketDir = filepath.Join(server.Bucket(t, "audio"), "school")
	require.NoError(t, os.Mkdir(s.bucketDir, 0o755)) // it is missing until the first upload otherwise
	s.env = append(s.env, "AUDIO_STORAGE_DIR=", "AUDIO_STORAGE_URL="+s3test.URL(server.Endpoint, "audio/school"),
		"AWS_ACCESS_KEY_ID="+s3test.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+s3test.SecretAccessKey)
}

// useDirectory keeps the recordings of a service in a directory, whatever the flag.
func (s *service) useDirectory(dir string) {
	s.bucketDir = ""
	s.env = append(s.env, "AUDIO_STORAGE_URL=", "AUDIO_STORAGE_DIR="+dir)
}

func TestSpokenLessonOnABucket(t *testing.T) {
	slow(t)
	databases(t, func(t *testing.T, url string) {
		addr := freePort(t)
		startSpeech(t, addr)
		s := newService(t, url, "http://"+addr)
		s.useBucket(t)
		spokenLesson(t, s)
		recordings, err := filepath.Glob(filepath.Join(s.bucketDir, "*", "*.mp3"))
		require.NoError(t, err)
		require.Len(t, recordings, 2)
	})
}

// Servers that share a bucket are killed at random moments.
func TestKilledProcessesOnABucketLoseNothing(t *testing.T) {
	slow(t)
	databases(t, func(t *testing.T, url string) {
		rec := newRecogniser(t)
		s := newService(t, url, rec.url())
		s.useBucket(t)
		killAtRandom(t, s, rec)
	})
}
