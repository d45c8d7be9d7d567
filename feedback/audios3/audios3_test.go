package audios3_test

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audios3"
	"lessonkit.example/feedback/feedbacktest"
	"lessonkit.example/internal/s3test"
)

// open returns a store at an endpoint. It waits as long as users' stores do, because a busy machine
// may take seconds to store an upload.
func open(t testing.TB, endpoint, bucketAndPrefix string) *audios3.Store {
	t.Helper()
	s, err := audios3.New(config(endpoint, bucketAndPrefix))
	require.NoError(t, err)
	return s
}

func config(endpoint, bucketAndPrefix string) audios3.Config {
	return audios3.Config{URL: s3test.URL(endpoint, bucketAndPrefix),
		AccessKeyID: s3test.AccessKeyID, SecretAccessKey: s3test.SecretAccessKey}
}

// objects returns the files of a bucket's directory.
func objects(t *testing.T, dir string) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			names = append(names, path)
		}
		return err
	}))
	return names
}

func TestConformance(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	var n atomic.Int64
	for _, prefix := range []string{"", "/some/prefix"} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			t.Parallel()
			feedbacktest.AudioStore(t, func(t *testing.T) feedback.AudioStore {
				bucket := fmt.Sprintf("audio-%d", n.Add(1))
				server.Bucket(t, bucket)
				return open(t, server.Endpoint, bucket+prefix)
			})
		})
	}
}
