//go:build linux

package e2e

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/auth/authtest"
	"lessonkit.example/examples/feedback-server/fleet"
	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/internal/db"
)

// secured is a service in production mode, with credentials for everything that it calls.
type secured struct {
	*service
	platform *authtest.Platform
	rec      *recogniser

	// followed counts the requests that followed the redirect of the summary endpoint.
	followed atomic.Int64

	owner string // a token
	ids   map[string]string
	audio []byte
}

const trustedProxy = "127.0.0.1"

func newSecured(t *testing.T, database string, env ...string) *secured {
	t.Helper()
	s := &secured{platform: authtest.NewPlatform(t), rec: newRecogniser(t), audio: fleet.NewRecording()}
	secret(s.platform.Secret)
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { s.followed.Add(1) }))
	t.Cleanup(inside.Close)
	summary := httptest.NewServer(http.RedirectHandler(inside.URL, http.StatusTemporaryRedirect))
	t.Cleanup(summary.Close)
	if u, err := url.Parse(database); err == nil && u.Scheme == "postgres" {
		u.User = url.UserPassword("postgres", secret("password-"+rand.Text()))
		database = u.String()
	}
	s.service = newService(t, database, s.rec.url())
	s.env = append(s.env,
		"APP_ENV=production", "ALLOW_DEVELOPMENT_USER_HEADER=true", "TRUSTED_PROXIES="+trustedProxy,
		"AUDIO_MAX_BYTES=1000000",
		"MINIAPP_APP_ID="+s.platform.AppID, "MINIAPP_APP_SECRET="+s.platform.Secret,
		"MINIAPP_API_URL="+s.platform.Endpoint(),
		"LOCAL_ASR_API_KEY="+secret("asr-"+rand.Text()), "OPERATOR_PASSWORD="+secret("operator-"+rand.Text()),
		"FEEDBACK_SUMMARY_API_URL="+summary.URL, "FEEDBACK_SUMMARY_API_KEY="+secret("sum-"+rand.Text()),
		"FEEDBACK_SUMMARY_MODEL=any",
	)
	s.env = append(s.env, env...)
	s.start(t)
	s.owner = s.login(t)
	s.fill(t)
	return s
}

// login signs a new user in and returns the token.
func (s *secured) login(t *testing.T) string {
	t.Helper()
	code := secret(s.platform.Code(authtest.User{OpenID: secret("openid-" + rand.Text())}))
	a := s.send(t, request{method: "POST", path: "/api/v1/auth/miniapp/login", body: map[string]string{"code": code},
		header: http.Header{"X-Forwarded-For": {newAddress()}}})
	require.Equal(t, http.StatusOK, a.status, a.body)
	require.Equal(t, "no-store", a.header.Get("Cache-Control"))
	return secret(a.text("token"))
}

var addresses atomic.Int64

// newAddress returns a client address that was not used before.
func newAddress() string {
	n := addresses.Add(1)
	return fmt.Sprintf("192.0.%d.%d", n/200, n%200+1)
}

// fill makes one of everything for the owner.
func (s *secured) fill(t *testing.T) {
	t.Helper()
	c := feedbackclient.Client{Base: s.client.Base, Header: http.Header{"Authorization": {"Bearer " + s.owner}}}
	s.client = c
	profile, session, lesson := openLesson(t, s.client)
	segment, err := c.Upload(t.Context(), lesson.ID, 0, "a.wav", s.audio)
	require.NoError(t, err)
	spare, err := c.EnsureProfile(t.Context(), "Someone else")
	require.NoError(t, err)
	record, err := c.SaveRecord(t.Context(), spare.ID, "", "2026-03-01", "kept between the two of us")
	require.NoError(t, err)
	s.ids = map[string]string{
		"profile_id": profile.ID, "session_id": session.ID, "lesson_id": lesson.ID, "segment_id": segment.ID,
		"record_id": record.ID,
	}
	eventually(t, "the segment has text", func() bool {
		return s.lesson(t, session.ID).Segments[0].State == "transcribed"
	})
}

// expire sets the end of a token's session into the past.
func (s *secured) expire(t *testing.T, token string) {
	t.Helper()
	store, err := db.Open(s.value("DATABASE_URL"))
	require.NoError(t, err)
	defer store.Close()
	hash := sha256.Sum256([]byte(token))
	const expire = "update auth_sessions set expires_at = $2 where token_hash = $1"
	r, err := store.W.ExecContext(t.Context(), expire, hash[:],
		db.Time(time.Now().Add(-time.Second)))
	require.NoError(t, err)
	n, err := r.RowsAffected()
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
}

// request is sent unchanged. Its body is nil, bytes, or a value to encode as JSON.
type request struct {
	method, path string
	body         any
	contentType  string
	header       http.Header
}

type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) text(field string) string {
	var m map[string]any
	json.Unmarshal([]byte(a.body), &m)
	s, _ := m[field].(string)
	return s
}

func (s *secured) send(t *testing.T, r request) answer {
	t.Helper()
	var body io.Reader
	switch b := r.body.(type) {
	case nil:
	case []byte:
		body = bytes.NewReader(b)
	default:
		encoded, err := json.Marshal(b)
		require.NoError(t, err)
		body, r.contentType = bytes.NewReader(encoded), "application/json"
	}
	req, err := http.NewRequestWithContext(t.Context(), r.method, s.client.Base+r.path, body)
	require.NoError(t, err)
	if r.header != nil {
		req.Header = r.header.Clone()
	}
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	// A server that refuses a large body ends the connection half a second after its answer: a busy
	// machine may still be sending then.
	for try := 1; try < 5 && (errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)); try++ {
		again := req.Clone(t.Context())
		if req.GetBody != nil {
			again.Body, err = req.GetBody()
			require.NoError(t, err)
		}
		resp, err = http.DefaultTransport.RoundTrip(again)
	}
	require.NoError(t, err, "%s %s", r.method, r.path)
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return a // the stream does not end
	}
	all, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	a.body = string(all)
	return a
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
