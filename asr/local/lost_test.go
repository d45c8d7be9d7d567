package local_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/audiofile"
	"lessonkit.example/asr/local"
)

// A server that hangs is not sent recording after recording, which would make all of them suspect.
func TestAfterALostRecordingTheServerIsAskedBeforeTheNext(t *testing.T) {
	t.Parallel()
	s := asrtest.NewServer(t, asrtest.OpenAI)
	rec := connect(t, local.Config{URL: s.URL})
	_, err := recognize(t, rec)
	require.NoError(t, err)
	s.SetFault(asrtest.Reset)
	_, err = recognize(t, rec)
	require.ErrorIs(t, err, asr.ErrLost)
	require.True(t, err.(*asr.Error).Suspect())
	require.False(t, rec.Status(t.Context()).Available)
	sent := len(s.Requests())

	s.SetFault(asrtest.Hang) // GET /health hangs too
	_, err = recognize(t, rec)
	require.ErrorIs(t, err, asr.ErrUnavailable)
	require.ErrorContains(t, err, "it is not ready again")
	require.NotContains(t, err.Error(), "broke off")
	require.Len(t, s.Requests(), sent, "the recording was not sent")

	s.SetFault(asrtest.NoFault)
	_, err = recognize(t, rec)
	require.NoError(t, err)
}

// A proxy may keep the health of the server to itself.
func TestAfterALostRecordingAHealthThatIsNotShownDoesNotStopTheNext(t *testing.T) {
	t.Parallel()
	for status, lasting := range map[int]bool{
		204: false, 301: false, 400: false, 401: false, 403: false, 410: false,
		408: true, 429: true, 500: true, 503: true,
	} {
		var broken, after atomic.Bool
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case after.Load() && (r.URL.Path == "/health" || r.URL.Path == "/readyz"):
				w.WriteHeader(status)
			case r.Method == http.MethodGet:
				http.NotFound(w, r)
			case r.ContentLength > 10_000 && broken.CompareAndSwap(true, false):
				panic(http.ErrAbortHandler)
			default:
				_, _ = w.Write([]byte(`{"text":"x"}`))
			}
		}))
		t.Cleanup(s.Close)
		rec := connect(t, local.Config{URL: s.URL})
		_, err := recognize(t, rec)
		require.NoError(t, err, status)
		broken.Store(true)
		after.Store(true)
		_, err = recognize(t, rec)
		require.ErrorIs(t, err, asr.ErrLost, status)
		_, err = recognize(t, rec)
		require.Equal(t, lasting, errors.Is(err, asr.ErrUnavailable), status)
		require.Equal(t, !lasting, err == nil, status)
		require.Equal(t, !lasting, rec.Check(t.Context()).Available, status)
	}
}

// Recordings that stop the server each time remain suspect, however many there are, if the server
// answers in between.
func TestRecordingsThatStopTheServerDoNotExcuseOneAnother(t *testing.T) {
	t.Parallel()
	for _, checked := range []bool{false, true} {
		s := asrtest.NewServer(t, asrtest.OpenAI)
		rec := connect(t, local.Config{URL: s.URL})
		for range 3 {
			for n := range 4 {
				s.SetFault(asrtest.Reset) // of requests with a recording
				_, err := rec.Recognize(t.Context(), asr.FromBytes(fmt.Sprint(n), asrtest.WAV(time.Second)))
				require.ErrorIs(t, err, asr.ErrLost)
				s.SetFault(asrtest.NoFault) // it has been started again
				if checked {
					require.True(t, rec.Check(t.Context()).Available)
				}
			}
		}
	}
}

func TestAnOutageBeforeTheRecordingWasSentIsShortAtFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		refused := roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost {
				sent++
			}
			return nil, errors.New("refused")
		})
		rec := connect(t, local.Config{URL: "http://host/v1/audio/transcriptions?model=m", Transport: refused})
		for _, want := range []time.Duration{1, 1, 2, 4, 8, 15, 15} {
			_, err := recognize(t, rec)
			e, _ := errors.AsType[*asr.Error](err)
			require.Equal(t, asr.ErrUnavailable, e.Class)
			require.Equal(t, want*time.Second, e.RetryAfter())
			time.Sleep(e.RetryAfter())
		}
		require.Equal(t, 1, sent, "recordings are neither converted nor sent until it answers")
	})
}

// Some servers answer nothing while they work, for example on a recording of another client.
func TestAServerThatWorksIsSentTheRecordingAfterAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refuses := true
		rec := connect(t, local.Config{URL: "http://host/v1/audio/transcriptions?model=m",
			Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				switch {
				case refuses:
					return nil, errors.New("refused")
				case r.Method == http.MethodGet:
					<-r.Context().Done()
					return nil, r.Context().Err()
				}
				body := io.NopCloser(strings.NewReader(`{"text":"x"}`))
				return &http.Response{StatusCode: http.StatusOK, Body: body}, nil
			})})
		_, err := recognize(t, rec)
		require.ErrorIs(t, err, asr.ErrUnavailable)
		refuses = false
		_, err = recognize(t, rec)
		require.NoError(t, err)
	})
}

// A server that fails with each recording and then restarts is not excused by the restarts.
func TestAServerThatStopsAfterEachFailureIsUnavailable(t *testing.T) {
	t.Parallel()
	s := asrtest.NewServer(t, asrtest.OpenAI)
	refuses := false
	rec := connect(t, local.Config{URL: s.URL, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if refuses {
			return nil, errors.New("refused")
		}
		return http.DefaultTransport.RoundTrip(r)
	})})
	s.SetFault(asrtest.Failure)
	for n := range 3 {
		audio := asr.FromBytes(fmt.Sprint(n), asrtest.WAV(time.Second))
		_, err := rec.Recognize(t.Context(), audio)
		require.Equal(t, n == 2, errors.Is(err, asr.ErrUnavailable), "%d: %v", n, err)
		refuses = true
		_, err = rec.Recognize(t.Context(), audio)
		require.ErrorIs(t, err, asr.ErrUnavailable)
		refuses = false
	}
}

func TestTimeLimitFollowsTheRecording(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hangs := roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		for duration, want := range map[time.Duration]time.Duration{
			time.Second: 20 * time.Second, 5 * time.Second: 20 * time.Second, 30 * time.Second: 2 * time.Minute,
			time.Hour: 3 * time.Minute,
		} {
			rec := connect(t, local.Config{URL: "http://host/v1/audio/transcriptions?model=m", Transport: hangs,
				RequestTimeout: 3 * time.Minute, TimeoutFactor: 4, MinTimeout: 20 * time.Second})
			start := time.Now()
			_, err := rec.Recognize(t.Context(), asr.FromBytes("a", asrtest.WAV(duration)))
			require.ErrorContains(t, err, fmt.Sprint("no answer within ", want))
			require.Equal(t, want, time.Since(start))
		}
	})
}

// TestTimeLimitIncludesAllAttempts also checks that the next call knows what the first attempt has
// shown, so that all of its time is for the attempt that can succeed.
func TestTimeLimitIncludesAllAttempts(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]struct {
		status int
		body   string
		calls  int // that fail: one for the times of words, and one for those of segments
	}{
		"fails":   {http.StatusInternalServerError, "out of memory", 2},
		"refuses": {http.StatusBadRequest, "verbose_json is not supported", 1},
	} {
		for _, limit := range []time.Duration{time.Minute, 90 * time.Second} {
			t.Run(fmt.Sprint(name, "/", limit), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					slow := roundTrip(func(r *http.Request) (*http.Response, error) {
						body, err := io.ReadAll(r.Body)
						if err != nil {
							return nil, err
						}
						a := answer
						if !bytes.Contains(body, []byte("verbose_json")) {
							a.status, a.body = http.StatusOK, `{"text":"x"}`
						}
						select {
						case <-time.After(50 * time.Second):
						case <-r.Context().Done():
							return nil, r.Context().Err()
						}
						return &http.Response{StatusCode: a.status, Body: io.NopCloser(strings.NewReader(a.body))}, nil
					})
					rec := connect(t, local.Config{URL: "http://host/v1/audio/transcriptions?model=m", Transport: slow,
						Segments: true, RequestTimeout: 90 * time.Second, MinTimeout: limit})
					for range answer.calls {
						start := time.Now()
						_, err := recognize(t, rec)
						require.ErrorContains(t, err, fmt.Sprint("no answer within ", limit))
						require.Equal(t, limit, time.Since(start))
					}
					got, err := recognize(t, rec)
					require.NoError(t, err)
					require.Equal(t, "x", got.Text)
				})
			})
		}
	}
}

// slow is a reader of one zero every 50 seconds.
type slow struct{}

func (slow) Read(p []byte) (int, error) {
	time.Sleep(50 * time.Second)
	p[0] = 0
	return 1, nil
}

// TestTimeLimitIncludesTheConversion, whose end says nothing about the server.
func TestTimeLimitIncludesTheConversion(t *testing.T) {
	t.Parallel()
	program, err := os.Executable() // any: the recording does not reach it
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		rec := connect(t, local.Config{URL: "http://host/v1/audio/transcriptions?model=m", FFmpeg: program,
			RequestTimeout: 3 * time.Minute, Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				return nil, errors.New("a request")
			})})
		head := append([]byte("#!AMR\n"), make([]byte, audiofile.HeadSize-6)...)
		audio := asr.Audio{Name: "a.amr", Size: audiofile.HeadSize + 10, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(bytes.NewReader(head), slow{})), nil
		}}
		before, start := rec.Status(t.Context()), time.Now()
		_, err := rec.Recognize(t.Context(), audio)
		require.Equal(t, 200*time.Second, time.Since(start), "the read that had begun ends first")
		require.EqualError(t, err, "recognise (ffmpeg): not converted within 3m0s: context deadline exceeded")
		e, _ := errors.AsType[*asr.Error](err)
		require.NoError(t, e.Class, "the server was not asked")
		require.Equal(t, before, rec.Status(t.Context()))
	})
}

// The health endpoint of a server that fails with every recording does not hide it.
func TestServerThatFailsWithEveryRecordingIsUnavailable(t *testing.T) {
	t.Parallel()
	s := asrtest.NewServer(t, asrtest.WhisperCPP)
	s.SetFault(asrtest.Failure)
	rec := connect(t, local.Config{URL: s.URL})
	send := func(n int) error {
		_, err := rec.Recognize(t.Context(), asr.FromBytes(fmt.Sprint(n), asrtest.WAV(time.Second)))
		return err
	}
	for n := range 2 {
		require.NotErrorIs(t, send(n), asr.ErrUnavailable)
		require.True(t, rec.Check(t.Context()).Available)
	}
	require.ErrorIs(t, send(2), asr.ErrUnavailable)
	require.ErrorIs(t, send(0), asr.ErrUnavailable)
	st := rec.Check(t.Context())
	require.False(t, st.Available)
	require.Contains(t, st.Reason, "the last 3 different recordings have failed: CUDA error: out of memory")
	s.SetFault(asrtest.NoFault)
	require.NoError(t, send(0))
	require.True(t, rec.Status(t.Context()).Available)
}
