package audios3_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audios3"
	"lessonkit.example/feedback/feedbacktest"
	"lessonkit.example/internal/s3test"
)

// fault handles a request instead of passing it on. It may do so itself with forward.
type fault func(w http.ResponseWriter, r *http.Request, forward http.Handler)

// faulty returns a store whose first requests of a method, or all of them if n is negative, meet a
// fault, the directory of its bucket, and how many requests of the method were made.
func faulty(t *testing.T, method string, n int64, f fault) (*audios3.Store, string, *atomic.Int64) {
	t.Helper()
	server := s3test.Start(t)
	dir := server.Bucket(t, "audio")
	target, err := url.Parse(server.Endpoint)
	require.NoError(t, err)
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is signed
	}}
	var made atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == method {
			if i := made.Add(1); n < 0 || i <= n {
				f(w, r, forward)
				return
			}
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	s, err := audios3.NewWithIdleTimeout(config(proxy.URL, "audio"), 5*time.Second)
	require.NoError(t, err)
	return s, dir, &made
}

func slowDown(w http.ResponseWriter, r *http.Request, _ http.Handler) {
	refuse(w, r, http.StatusServiceUnavailable, "SlowDown")
}

func timeOut(w http.ResponseWriter, r *http.Request, _ http.Handler) {
	refuse(w, r, http.StatusBadRequest, "RequestTimeout")
}

func refuse(w http.ResponseWriter, r *http.Request, status int, code string) {
	io.Copy(io.Discard, r.Body)
	w.WriteHeader(status)
	io.WriteString(w, "<Error><Code>"+code+"</Code><Message>Please try again.</Message></Error>")
}

// loseAnswer passes the request on and closes the connection instead of answering.
func loseAnswer(_ http.ResponseWriter, r *http.Request, forward http.Handler) {
	forward.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

func stall(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// cutBody passes on one byte more than half of the body, and then closes the connection.
func cutBody(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	answer := httptest.NewRecorder()
	forward.ServeHTTP(answer, r)
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	body := answer.Body.Bytes()
	w.Write(body[:len(body)/2+1])
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// damage passes the request on with another first byte.
func damage(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	body, _ := io.ReadAll(r.Body)
	body[0] ^= 1
	r.Body = io.NopCloser(bytes.NewReader(body))
	forward.ServeHTTP(w, r)
}

func keep(ctx context.Context, s feedback.AudioStore, audio []byte) (feedback.KeptAudio, error) {
	a, err := s.Stage(ctx, bytes.NewReader(audio), 1<<30)
	if err != nil {
		return feedback.KeptAudio{}, err
	}
	defer a.Discard()
	return a.Keep(ctx, nil)
}

func TestFaultsDuringAnUpload(t *testing.T) {
	t.Parallel()
	audio := feedbacktest.MP3(strings.Repeat("a recording ", 50_000))
	for name, c := range map[string]struct {
		n     int64
		fault fault
		ok    bool
	}{
		"a lost answer":              {1, loseAnswer, true},
		"answers that are all lost":  {-1, loseAnswer, false},
		"two answers to slow down":   {2, slowDown, true},
		"always to slow down":        {-1, slowDown, false},
		"always a timeout":           {-1, timeOut, false},
		"a storage that stalls once": {1, stall, true},
		"damaged on the way, always": {-1, damage, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir, made := faulty(t, http.MethodPut, c.n, c.fault)
			kept, err := keep(t.Context(), s, audio)
			require.LessOrEqual(t, made.Load(), int64(3), "tries")
			if !c.ok {
				require.ErrorIs(t, err, feedback.ErrStorage)
				require.NotContains(t, err.Error(), s3test.SecretAccessKey)
				var e *feedback.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, "the audio storage is not available", e.Message, "that passes by itself")
				require.Equal(t, 5*time.Second, e.RetryAfter(), "the phone tries again")
				if name != "answers that are all lost" { // that object is an orphan, which a sweep deletes
					require.Empty(t, objects(t, dir))
				}
				return
			}
			require.NoError(t, err)
			require.Len(t, objects(t, dir), 1, "repeated under the same key")
			require.Equal(t, audio, readAll(t, s, kept.Key))
		})
	}
}

func TestACanceledUploadEndsAtOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s, dir, made := faulty(t, http.MethodPut, -1, func(w http.ResponseWriter, r *http.Request, f http.Handler) {
		cancel()
		stall(w, r, f)
	})
	_, err := keep(ctx, s, feedbacktest.MP3("x"))
	require.ErrorIs(t, err, context.Canceled)
	require.EqualValues(t, 1, made.Load())
	require.Empty(t, objects(t, dir))
}

func readAll(t *testing.T, s feedback.AudioStore, key string) []byte {
	t.Helper()
	f, err := s.Open(t.Context(), key)
	require.NoError(t, err)
	defer f.Close()
	b, err := io.ReadAll(f)
	require.NoError(t, err)
	return b
}

func TestFaultsDuringReading(t *testing.T) {
	t.Parallel()
	audio := feedbacktest.MP3(strings.Repeat("a recording ", 50_000))
	for name, c := range map[string]struct {
		n     int64
		fault fault
	}{
		"a body cut twice":         {2, cutBody},
		"two answers to slow down": {2, slowDown},
		"a storage that stalls":    {1, stall},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, _ := faulty(t, http.MethodGet, c.n, c.fault)
			kept, err := keep(t.Context(), s, audio)
			require.NoError(t, err)
			require.Equal(t, audio, readAll(t, s, kept.Key))
		})
	}
	for name, f := range map[string]fault{"always to slow down": slowDown, "answers that are all lost": loseAnswer} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, made := faulty(t, http.MethodGet, -1, f)
			kept, err := keep(t.Context(), s, audio)
			require.NoError(t, err)
			_, err = s.Open(t.Context(), kept.Key)
			require.ErrorIs(t, err, feedback.ErrStorage)
			require.NotErrorIs(t, err, feedback.ErrNotFound, "it is not gone")
			require.LessOrEqual(t, made.Load(), int64(6), "net/http repeats a GET on a connection that it kept")
		})
	}
}

func TestAListingThatFailsIsAnError(t *testing.T) {
	t.Parallel()
	s, _, _ := faulty(t, http.MethodGet, -1, slowDown)
	var last error
	for _, err := range s.Keys(t.Context(), later()) {
		last = err
	}
	require.ErrorIs(t, last, feedback.ErrStorage)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	server.Bucket(t, "audio")
	require.NoError(t, open(t, server.Endpoint, "audio").Check(t.Context()))
	for name, c := range map[string]struct{ key, secret, bucket, want string }{
		"bucket": {s3test.AccessKeyID, s3test.SecretAccessKey, "missing", "NoSuchBucket"},
		"secret": {s3test.AccessKeyID, "not the secret", "audio", "SignatureDoesNotMatch"},
		"key":    {"nobody", s3test.SecretAccessKey, "audio", "XAdminUserNotFound"},
	} {
		s, err := audios3.New(audios3.Config{
			URL: s3test.URL(server.Endpoint, c.bucket), AccessKeyID: c.key, SecretAccessKey: c.secret,
		})
		require.NoError(t, err)
		_, kept := keep(t.Context(), s, feedbacktest.MP3("x"))
		for _, err := range []error{s.Check(t.Context()), kept} {
			require.ErrorIs(t, err, feedback.ErrStorage, name)
			require.NotErrorIs(t, err, feedback.ErrNotFound, name)
			var e *feedback.Error
			require.ErrorAs(t, err, &e, name)
			require.Equal(t, "the audio storage refuses requests: "+c.want, e.Message, "%s: %v", name, err)
			require.NotContains(t, err.Error(), c.secret, name)
			require.Equal(t, time.Minute, e.RetryAfter(), name)
		}
	}

	down := open(t, "http://127.0.0.1:1", "audio")
	require.ErrorIs(t, down.Check(t.Context()), syscall.ECONNREFUSED)
}

// The server itself refuses the requests: it compares their time with its clock before it checks
// the signature.
func TestClocksThatDiffer(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{-16 * time.Minute, 16 * time.Minute} {
		otherClock := func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
			r.Header.Set("X-Amz-Date", time.Now().Add(by).UTC().Format("20060102T150405Z"))
			forward.ServeHTTP(w, r)
		}
		read, _, _ := faulty(t, http.MethodGet, -1, otherClock)
		written, dir, _ := faulty(t, http.MethodPut, -1, otherClock)
		_, kept := keep(t.Context(), written, feedbacktest.MP3("x"))
		for _, err := range []error{read.Check(t.Context()), kept} {
			var e *feedback.Error
			require.ErrorAs(t, err, &e, by)
			require.ErrorIs(t, err, feedback.ErrStorage, by)
			require.ErrorContains(t, err, "the audio storage refuses requests: RequestTimeTooSkewed", by)
			require.Equal(t, time.Minute, e.RetryAfter(), by)
		}
		require.Empty(t, objects(t, dir))
	}
}

func TestDamagedObjectsAreNotReadToTheEnd(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	dir := server.Bucket(t, "audio")
	s := open(t, server.Endpoint, "audio")
	audio := feedbacktest.MP3(strings.Repeat("a recording ", 50_000))
	kept, err := keep(t.Context(), s, audio)
	require.NoError(t, err)
	require.Equal(t, audio, readAll(t, s, kept.Key))
	object, err := os.OpenFile(filepath.Join(dir, kept.Key), os.O_WRONLY, 0) // which has the sum as an attribute
	require.NoError(t, err)
	_, err = object.WriteAt([]byte("another"), 300_000)
	require.NoError(t, errors.Join(err, object.Close()))

	f, err := s.Open(t.Context(), kept.Key)
	require.NoError(t, err)
	defer f.Close()
	head := make([]byte, 1000) // as of a transcriber that finds out the duration
	_, err = f.(io.ReaderAt).ReadAt(head, 0)
	require.NoError(t, err)
	for range 2 {
		_, err = f.Seek(0, io.SeekStart)
		require.NoError(t, err)
		read, err := io.ReadAll(f)
		require.ErrorIs(t, err, feedback.ErrStorage)
		require.Less(t, len(read), len(audio))
	}
}
