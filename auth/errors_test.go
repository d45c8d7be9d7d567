package auth_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
)

func TestExchangeErrorTellsKindAndCause(t *testing.T) {
	t.Parallel()
	e := &auth.ExchangeError{Kind: auth.ErrPlatform, PlatformCode: "7", Message: "no answer", Err: io.ErrUnexpectedEOF, After: time.Second}
	require.EqualError(t, e, "exchange login code: platform did not answer sensibly (platform code 7): no answer: unexpected EOF")
	require.ErrorIs(t, e, auth.ErrPlatform)
	require.ErrorIs(t, e, io.ErrUnexpectedEOF)
	require.NotErrorIs(t, e, auth.ErrBlocked)
	require.Equal(t, time.Second, e.RetryAfter())
	require.EqualError(t, &auth.ExchangeError{Kind: auth.ErrBlocked}, "exchange login code: platform blocks this user")
}

func TestUnavailable(t *testing.T) {
	t.Parallel()
	require.NoError(t, auth.Unavailable(nil))
	err := fmt.Errorf("find session: %w", auth.Unavailable(io.EOF))
	require.ErrorIs(t, err, auth.ErrUnavailable)
	require.ErrorIs(t, err, io.EOF)
	var later interface{ RetryAfter() time.Duration }
	require.ErrorAs(t, err, &later)
	require.Positive(t, later.RetryAfter())
}

func TestWriteError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err         error
		status      int
		code        string
		bearer, try string
	}{
		{auth.ErrNoToken, 401, "token_missing", "Bearer", ""},
		{fmt.Errorf("%w: twice", auth.ErrInvalidToken), 401, "token_invalid", `Bearer error="invalid_token"`, ""},
		{auth.Unavailable(errors.New("cause")), 503, "database_unavailable", "", "5"},
		{context.Canceled, 503, "request_canceled", "", "1"},
		{errors.New("cause"), 500, "internal_error", "", ""},
	} {
		w := httptest.NewRecorder()
		auth.WriteError(w, nil, c.err)
		require.Equal(t, c.status, w.Code)
		require.Equal(t, c.bearer, w.Header().Get("WWW-Authenticate"))
		require.Equal(t, c.try, w.Header().Get("Retry-After"))
		require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		require.NotContains(t, w.Body.String(), "cause")
		var problem struct {
			Type, Title, Detail, Code string
			Status                    int
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &problem))
		require.Equal(t, c.code, problem.Code)
		require.Equal(t, c.status, problem.Status)
		require.Equal(t, http.StatusText(c.status), problem.Title)
		require.NotEmpty(t, problem.Detail)
	}
}

func TestRetryAfterSeconds(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{0: "1", time.Millisecond: "1", time.Second: "1", 1001 * time.Millisecond: "2", time.Minute: "60", -time.Second: "1"} {
		require.Equal(t, want, auth.RetryAfterSeconds(d))
	}
}
