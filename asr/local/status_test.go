package local_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/local"
)

func TestHealthOfEachServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialect   asrtest.Dialect
		fault     asrtest.Fault
		models    []string
		model     string
		available bool
		reason    string
	}{
		{asrtest.WhisperCPP, "", nil, "", true, ""},
		{asrtest.WhisperCPP, asrtest.Loading, nil, "", true, ""}, // 404, and also after a failed /load
		{asrtest.WhisperCPPOld, "", nil, "", true, ""},           // no health endpoint
		{asrtest.OpenAI, "", []string{"m"}, "", true, ""},
		{asrtest.Speaches, "", []string{"m"}, "", true, ""},
		{asrtest.Speaches, "", []string{}, "", false, "lists no model"}, // healthy with nothing downloaded
		{asrtest.Speaches, "", []string{"m"}, "other", false, "does not list the model"},
		{asrtest.VLLM, "", []string{"m"}, "m", true, ""},
		{asrtest.VLLM, asrtest.Loading, []string{"m"}, "", false, "not ready"},
		{asrtest.LocalAI, "", []string{"m"}, "", true, ""},
		{asrtest.LocalAI, asrtest.Loading, []string{"m"}, "", false, "not ready"},
		{asrtest.FunASR, "", []string{"m"}, "", true, ""},
		{asrtest.FunASR, asrtest.Loading, []string{"m"}, "", false, "no model is loaded"},
		{asrtest.FunASRCLI, "", []string{"m"}, "", true, ""},
		{asrtest.FunASRLlama, "", nil, "", true, ""},
		{asrtest.FunASRRecognition, "", nil, "", true, ""}, // neither health nor models
		{asrtest.FunASRRuntime, "", nil, "", true, ""},
	} {
		t.Run(string(c.dialect)+"/"+string(c.fault)+"/"+c.reason, func(t *testing.T) {
			t.Parallel()
			s := asrtest.NewServer(t, c.dialect)
			s.SetFault(c.fault)
			if c.models != nil {
				s.SetModels(c.models...)
			}
			rec := connect(t, local.Config{URL: s.URL, Model: c.model})
			require.Equal(t, "not checked yet", rec.Status(t.Context()).Reason)
			got := rec.Check(t.Context())
			require.Equal(t, c.available, got.Available, got.Reason)
			require.Contains(t, got.Reason, c.reason)
			require.Equal(t, got, rec.Status(t.Context()))
			for _, r := range s.Requests() {
				require.Zero(t, r.Size, "a check sends no audio")
			}
			if c.available && len(c.models) > 0 {
				require.Equal(t, "m", got.Model)
			}
		})
	}
}

func TestStatusReflectsRecordings(t *testing.T) {
	t.Parallel()
	s := asrtest.NewServer(t, asrtest.OpenAI)
	rec := connect(t, local.Config{URL: s.URL})
	_, err := recognize(t, rec)
	require.NoError(t, err)
	require.True(t, rec.Status(t.Context()).Available, "a success makes it available")

	s.SetFault(asrtest.Unauthorized)
	_, err = recognize(t, rec)
	require.ErrorIs(t, err, asr.ErrMisconfigured)
	require.False(t, rec.Check(t.Context()).Available, "a wrong key outweighs a health check")
	require.Contains(t, rec.Status(t.Context()).Reason, "(HTTP 401)")

	s.SetFault(asrtest.NoFault)
	_, err = recognize(t, rec)
	require.NoError(t, err)
	require.True(t, rec.Check(t.Context()).Available)

	s.Close()
	_, err = recognize(t, rec)
	require.ErrorIs(t, err, asr.ErrUnavailable)
	require.False(t, rec.Status(t.Context()).Available)
	require.Contains(t, rec.Status(t.Context()).Reason, "no answer from the server")
}

// A proxy may let only recordings through, and a key may be for them alone.
func TestASuccessOutweighsAListOfModelsThatIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		status := http.StatusOK // of the answers to recordings
		rec := connect(t, local.Config{URL: "http://host/v1/audio/transcriptions?model=m",
			Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				code := status
				if r.Method == http.MethodGet {
					code = http.StatusForbidden
				}
				return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader(`{"text":"x"}`))}, nil
			})})
		require.Contains(t, rec.Check(t.Context()).Reason, "(HTTP 403): the list of models is refused")
		_, err := recognize(t, rec)
		require.NoError(t, err)
		require.True(t, rec.Check(t.Context()).Available)
		status = http.StatusPaymentRequired
		_, err = recognize(t, rec)
		require.ErrorIs(t, err, asr.ErrRefused)
		require.Contains(t, rec.Check(t.Context()).Reason, "(HTTP 402)")
		time.Sleep(3 * time.Minute)
		require.True(t, rec.Check(t.Context()).Available, "the account may be in order again")
		status = http.StatusUnauthorized
		_, err = recognize(t, rec)
		require.ErrorIs(t, err, asr.ErrMisconfigured)
		require.Contains(t, rec.Check(t.Context()).Reason, "(HTTP 401)", "not what the list of models says")
		time.Sleep(3 * time.Minute)
		require.False(t, rec.Check(t.Context()).Available, "the key has become wrong")
	})
}

// slowTransport answers recordings after release, and health checks never.
type slowTransport struct{ release chan struct{} }

func (s slowTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	if r.Method == http.MethodGet {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	select {
	case <-s.release:
		w := httptest.NewRecorder()
		_, _ = w.WriteString(`{"text":"x"}`)
		return w.Result(), nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func TestBusyServerIsAvailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		transport := slowTransport{make(chan struct{})}
		rec := connect(t, local.Config{URL: "http://host/v1/audio/transcriptions?model=m", Transport: transport})
		require.False(t, rec.Check(t.Context()).Available)
		require.Contains(t, rec.Status(t.Context()).Reason, "no answer within 2s")
		done := make(chan error)
		go func() {
			_, err := recognize(t, rec)
			done <- err
		}()
		synctest.Wait()
		require.True(t, rec.Check(t.Context()).Available, "one of our recordings is running")
		close(transport.release)
		require.NoError(t, <-done)
		time.Sleep(4 * time.Minute)
		require.True(t, rec.Check(t.Context()).Available, "one succeeded recently")
		time.Sleep(2 * time.Minute)
		require.False(t, rec.Check(t.Context()).Available)
	})
}

func TestRunChecksUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var requests int
		transport := roundTrip(func(r *http.Request) (*http.Response, error) {
			requests++
			w := httptest.NewRecorder()
			switch {
			case r.URL.Path == "/health" && requests > 6:
				w.WriteHeader(503)
			case r.URL.Path != "/health":
				w.WriteHeader(404)
			}
			return w.Result(), nil
		})
		var log strings.Builder
		rec := connect(t, local.Config{URL: "http://recogniser/v1/audio/transcriptions", Transport: transport,
			Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- rec.Run(ctx) }()
		synctest.Wait()
		require.True(t, rec.Status(ctx).Available)
		first := rec.Status(ctx).CheckedAt
		time.Sleep(15 * time.Second)
		synctest.Wait()
		require.Equal(t, 15*time.Second, rec.Status(ctx).CheckedAt.Sub(first))
		time.Sleep(15 * time.Second)
		synctest.Wait()
		require.False(t, rec.Status(ctx).Available)
		cancel()
		require.NoError(t, <-done)
		require.Contains(t, log.String(), `level=WARN msg="recogniser checked" available=false`)
		require.Contains(t, log.String(), `reason="the server is not ready (HTTP 503)"`)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
