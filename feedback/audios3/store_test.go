package audios3_test

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audios3"
	"lessonkit.example/feedback/feedbacktest"
	"lessonkit.example/internal/s3test"
)

func later() time.Time { return time.Now().Add(time.Hour) }

func TestProcessesShareABucket(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	dir := server.Bucket(t, "audio")
	a, b := open(t, server.Endpoint, "audio"), open(t, server.Endpoint, "audio")
	other := open(t, server.Endpoint, "audio/other")
	kept, err := keep(t.Context(), a, feedbacktest.MP3("shared"))
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(dir, kept.Key), "keys are those of a directory")
	require.Equal(t, feedbacktest.MP3("shared"), readAll(t, b, kept.Key))
	_, err = other.Open(t.Context(), kept.Key)
	require.ErrorIs(t, err, feedback.ErrNotFound, "another prefix is another store")
	for key := range other.Keys(t.Context(), later()) {
		t.Errorf("%s has another prefix", key)
	}
	require.NoError(t, b.Delete(t.Context(), kept.Key))
	require.Empty(t, objects(t, dir))
}

// Transcribers find out how long a recording is in an io.ReaderAt.
func TestReadAt(t *testing.T) {
	t.Parallel()
	s, _, made := faulty(t, http.MethodGet, -1, func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		forward.ServeHTTP(w, r)
	})
	audio := feedbacktest.MP3(strings.Repeat("0123456789", 20_000))
	kept, err := keep(t.Context(), s, audio)
	require.NoError(t, err)
	f, err := s.Open(t.Context(), kept.Key)
	require.NoError(t, err)
	defer f.Close()
	at, ok := f.(io.ReaderAt)
	require.True(t, ok)

	start := make([]byte, 1000)
	_, err = io.ReadFull(f, start)
	require.NoError(t, err)
	all, err := io.ReadAll(io.NewSectionReader(at, 1000, int64(len(audio))-1000))
	require.NoError(t, err)
	require.Equal(t, audio, append(start, all...))
	require.EqualValues(t, 1, made.Load(), "what follows needs no other request")

	for _, c := range []struct {
		offset, n int
		err       error
	}{{5, 50, nil}, {len(audio) - 10, 10, nil}, {len(audio) - 10, 11, io.EOF}, {len(audio), 1, io.EOF}} {
		p := make([]byte, c.n)
		n, err := at.ReadAt(p, int64(c.offset))
		require.ErrorIs(t, err, c.err)
		require.Equal(t, audio[c.offset:min(c.offset+c.n, len(audio))], p[:n])
	}
	_, err = at.ReadAt(start, -1)
	require.Error(t, err)
	rest, err := io.ReadAll(f)
	require.NoError(t, err)
	require.Equal(t, audio[1000:], rest, "Read continues where it ended")
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"s3://bucket": "",
		"s3://bucket/some/prefix?endpoint=https%3A%2F%2Fs3.example%3A9000&region=eu-north-1": "",
		"s3://bucket/?endpoint=http://127.0.0.1:9000":                                        "",
		"":                                    "s3://bucket/prefix",
		"https://bucket.example":              "s3://bucket/prefix",
		"s3://key:hush@bucket":                "s3://bucket/prefix",
		"s3://":                               "must name a bucket",
		"s3://Bucket_hush":                    "must name a bucket",
		"s3://bucket/../hush":                 "prefix of letters",
		"s3://bucket/a//hush":                 "prefix of letters",
		"s3://bucket?endpoint=hush:9000":      "must have an endpoint",
		"s3://bucket?endpoint=https://h/hush": "must have an endpoint",
		"s3://bucket?region=a&region=b":       "each parameter once",
		"s3://bucket?endpoint=":               "each parameter once",
		"s3://bucket?secret=hush":             "unknown parameter",
	} {
		_, err := audios3.New(audios3.Config{URL: address})
		if want == "" {
			require.NoError(t, err, address)
			continue
		}
		require.ErrorContains(t, err, want, address)
		require.NotContains(t, err.Error(), "hush", "addresses may contain secrets by mistake")
	}
	_, err := audios3.New(audios3.Config{URL: "s3://bucket", AccessKeyID: "only one"})
	require.Error(t, err)
	require.NotContains(t, fmt.Sprintf("%+v", audios3.Config{SecretAccessKey: "hush"}), "hush")
}
