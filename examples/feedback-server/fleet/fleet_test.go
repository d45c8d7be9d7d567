package fleet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/fleet"
	"lessonkit.example/examples/feedback-server/server"
)

// newService serves the real service, with the stand-in as its recogniser.
func newService(t *testing.T) *url.URL {
	t.Helper()
	recogniser := httptest.NewServer(fleet.Recognizer(nil))
	t.Cleanup(recogniser.Close)
	dir := t.TempDir()
	config, err := server.ParseConfig(map[string]string{
		"DATABASE_URL": "sqlite:" + filepath.Join(dir, "lessons.db"), "AUDIO_STORAGE_DIR": filepath.Join(dir, "audio"),
		"ALLOW_DEVELOPMENT_USER_HEADER": "true", "LOCAL_ASR_URL": recogniser.URL, "ASR_WORKER_CONCURRENCY": "4",
	})
	require.NoError(t, err)
	require.NoError(t, server.Migrate(t.Context(), config, slog.New(slog.DiscardHandler)))
	srv, err := server.New(t.Context(), config, server.Options{})
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- srv.Run(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, srv.Close())
	})
	return &url.URL{Scheme: "http", Host: l.Addr().String()}
}

// edit returns a function that edits the JSON object of answers to GET requests of a session.
func edit(change func(lesson map[string]any)) func(*http.Response) error {
	return func(r *http.Response) error {
		path := r.Request.URL.Path
		if r.Request.Method != http.MethodGet || !strings.Contains(path, "/feedback-sessions/") ||
			strings.HasSuffix(path, "/events") {
			return nil
		}
		var session map[string]any
		if err := json.NewDecoder(r.Body).Decode(&session); err != nil {
			return err
		}
		for _, lesson := range session["lessons"].([]any) {
			change(lesson.(map[string]any))
		}
		text, err := json.Marshal(session)
		r.Body = io.NopCloser(bytes.NewReader(text))
		r.ContentLength = int64(len(text))
		r.Header.Del("Content-Length")
		return err
	}
}

// The phones find each kind of fault that a service can have.
func TestAuditCounts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		upload func(w http.ResponseWriter, n int64) bool // answers in place of the service, or returns false
		answer func(*http.Response) error
		check  func(t *testing.T, tally fleet.Tally)
	}{
		"an honest service": {
			check: func(t *testing.T, tally fleet.Tally) {
				require.Empty(t, tally.Problems)
				require.Empty(t, tally.Failures)
			},
		},
		"uploads that succeed at a later attempt": {
			upload: func(w http.ResponseWriter, n int64) bool {
				if n <= 6 {
					http.Error(w, `{"code":"storage_unavailable"}`, http.StatusServiceUnavailable)
				}
				return n <= 6
			},
			check: func(t *testing.T, tally fleet.Tally) {
				require.Empty(t, tally.Problems)
				require.Positive(t, tally.Repeated)
				require.Positive(t, tally.Failures["503 storage_unavailable"])
			},
		},
		"acknowledgements without a recording": {
			upload: func(w http.ResponseWriter, n int64) bool {
				if n <= 6 {
					_ = json.NewEncoder(w).Encode(map[string]any{"segment_id": uuid.NewString()})
				}
				return n <= 6
			},
			check: func(t *testing.T, tally fleet.Tally) {
				// Doubled, if the phone happened to repeat it.
				require.Positive(t, tally.Lost+tally.Doubled)
			},
		},
		"other bytes than were sent": {
			answer: func(r *http.Response) error {
				if strings.HasSuffix(r.Request.URL.Path, "/audio") {
					r.Body = io.NopCloser(strings.NewReader(strings.Repeat("x", int(r.ContentLength))))
				}
				return nil
			},
			check: func(t *testing.T, tally fleet.Tally) {
				require.Equal(t, tally.Acknowledged+tally.Kept, tally.Lost, tally.Problems)
			},
		},
		"a segment twice": {
			answer: edit(func(lesson map[string]any) {
				if list, _ := lesson["segments"].([]any); len(list) > 0 {
					lesson["segments"] = append(list, list[0])
				}
			}),
			check: func(t *testing.T, tally fleet.Tally) { require.Positive(t, tally.Doubled) },
		},
		"uploads refused for good": {
			upload: func(w http.ResponseWriter, _ int64) bool {
				http.Error(w, `{"code":"too_large"}`, http.StatusRequestEntityTooLarge)
				return true
			},
			check: func(t *testing.T, tally fleet.Tally) {
				require.Zero(t, tally.Acknowledged)
				require.Positive(t, tally.Failures["413 too_large"])
				require.Positive(t, tally.Refused)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			back := newService(t)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var uploads atomic.Int64
			proxy := &httputil.ReverseProxy{
				Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(back) },
				ModifyResponse: test.answer,
			}
			front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/segments") {
					if r.Host != r.Context().Value(http.LocalAddrContextKey).(net.Addr).String() {
						t.Errorf("an upload is for the host %q, so the service refuses it unread", r.Host)
					}
					n := uploads.Add(1)
					if n == 12 {
						stop()
					}
					if test.upload != nil && test.upload(w, n) {
						return
					}
				}
				proxy.ServeHTTP(w, r)
			}))
			defer front.Close()
			phones, err := fleet.Start(ctx, fleet.Config{
				URLs: []string{front.URL}, Phones: 3, Pace: time.Millisecond,
				Patience: time.Minute,
			})
			require.NoError(t, err)
			<-ctx.Done()
			reading, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			tally, err := phones.Audit(reading)
			require.NoError(t, err)
			test.check(t, tally)
		})
	}
}
