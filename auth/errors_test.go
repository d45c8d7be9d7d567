package auth_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
)

func TestExchangeErrorTellsKindAndCause(t *testing.T) {
	t.Parallel()
	e := &auth.ExchangeError{Kind: auth.ErrPlatform, PlatformCode: "7", Message: "no answer", Err: io.ErrUnexpectedEOF,
		After: time.Second}
	require.EqualError(t, e,
		"exchange login code: platform did not give a valid answer (platform code 7): no answer: unexpected EOF")
	require.ErrorIs(t, e, auth.ErrPlatform)
	require.ErrorIs(t, e, io.ErrUnexpectedEOF)
	require.NotErrorIs(t, e, auth.ErrBlocked)
	require.Equal(t, time.Second, e.RetryAfter())
	for kind, permanent := range map[error]bool{
		auth.ErrBlocked: true, auth.ErrMisconfigured: true,
		auth.ErrCodeRejected: false, auth.ErrPlatform: false, auth.ErrPlatformBusy: false,
		auth.ErrPlatformTimeout: false, auth.ErrRateLimited: false,
	} {
		e := &auth.ExchangeError{Kind: kind}
		require.Equal(t, permanent, e.Permanent(), kind.Error())
		require.EqualError(t, e, "exchange login code: "+kind.Error())
	}
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
	var temporary interface{ Permanent() bool }
	require.ErrorAs(t, err, &temporary)
	require.False(t, temporary.Permanent())
}
