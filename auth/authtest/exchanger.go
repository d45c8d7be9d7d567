package authtest

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
)

// ExchangerTarget is an exchanger to test, with the fake platform that it calls, if any.
type ExchangerTarget struct {
	Exchanger auth.Exchanger
	// Code issues a code for a user, of any name in a-z, as the exchanger takes it.
	Code func(user string) string
	// Behave makes the platform answer every request by the handler; nil restores the normal
	// behavior. If Behave is nil, as for an exchanger that calls nobody, tests of a platform that
	// fails are skipped.
	Behave func(http.HandlerFunc)
	// Secrets must not be contained in errors.
	Secrets []string
}

// ExchangerSuite tests that an exchanger does what [auth.Exchanger] documents. open returns a new
// exchanger and a new platform on each call, and closes them by t.Cleanup.
func ExchangerSuite(t *testing.T, open func(t *testing.T) ExchangerTarget) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, ExchangerTarget){
		"a code identifies its user":                     identifies,
		"concurrent exchanges do not mix users up":       exchangesConcurrently,
		"a code is accepted once":                        acceptsOnce,
		"an unknown code is rejected":                    rejectsUnknown,
		"a platform that fails is an error, and no user": onPlatform(reportsFaults),
		"a code is sent once":                            onPlatform(sendsOnce),
		"a slow platform is a timeout":                   onPlatform(timesOut),
		"a canceled context ends the exchange":           onPlatform(isCanceled),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func onPlatform(test func(*testing.T, ExchangerTarget)) func(*testing.T, ExchangerTarget) {
	return func(t *testing.T, x ExchangerTarget) {
		if x.Behave == nil {
			t.Skip("the exchanger has no platform to fail")
		}
		test(t, x)
	}
}

func identifies(t *testing.T, x ExchangerTarget) {
	first, err := x.Exchanger.Exchange(t.Context(), x.Code("anna"))
	require.NoError(t, err)
	require.True(t, first.Valid(), "%+v", first)
	again, err := x.Exchanger.Exchange(t.Context(), x.Code("anna"))
	require.NoError(t, err)
	require.Equal(t, first, again)
	other, err := x.Exchanger.Exchange(t.Context(), x.Code("ben"))
	require.NoError(t, err)
	require.NotEqual(t, first.Subject, other.Subject)
	require.Equal(t, first.Platform, other.Platform)
	require.Equal(t, first.AppID, other.AppID)
}

func exchangesConcurrently(t *testing.T, x ExchangerTarget) {
	users := []string{"anna", "ben", "carla", "dan"}
	want, got := make([]auth.Identity, len(users)), make([]auth.Identity, len(users))
	errs := make([]error, len(users))
	for i, user := range users {
		want[i], errs[i] = x.Exchanger.Exchange(t.Context(), x.Code(user))
		require.NoError(t, errs[i])
	}
	var wg sync.WaitGroup
	for i, user := range users {
		code := x.Code(user)
		wg.Go(func() { got[i], errs[i] = x.Exchanger.Exchange(t.Context(), code) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Equal(t, want, got)
}

func acceptsOnce(t *testing.T, x ExchangerTarget) {
	code := x.Code("anna")
	_, err := x.Exchanger.Exchange(t.Context(), code)
	require.NoError(t, err)
	id, err := x.Exchanger.Exchange(t.Context(), code)
	require.Zero(t, id)
	require.ErrorIs(t, x.refusal(t, err, code), auth.ErrCodeRejected)
}

func rejectsUnknown(t *testing.T, x ExchangerTarget) {
	known := x.Code("anna")
	unknown := []byte(known) // of the same form
	for i, c := range unknown {
		switch {
		case c == 'z' || c == 'Z' || c == '9':
			unknown[i]--
		case c >= 'a' && c < 'z' || c >= 'A' && c < 'Z' || c >= '0' && c < '9':
			unknown[i]++
		}
	}
	id, err := x.Exchanger.Exchange(t.Context(), string(unknown))
	require.Zero(t, id)
	require.ErrorIs(t, x.refusal(t, err, string(unknown)), auth.ErrCodeRejected)
	_, err = x.Exchanger.Exchange(t.Context(), "")
	require.ErrorIs(t, err, auth.ErrCodeMissing)
}

func reportsFaults(t *testing.T, x ExchangerTarget) {
	for name, mood := range map[string]http.HandlerFunc{
		"connection closed": Cut, "cut short": CutShort, "page": Text(http.StatusOK, "<html>login</html>"),
		"empty": Text(http.StatusOK, ""), "nothing in it": Text(http.StatusOK, "{}"),
		"gateway": Text(http.StatusBadGateway, "<html>nginx</html>"),
	} {
		x.Behave(mood)
		code := x.Code("anna")
		id, err := x.Exchanger.Exchange(t.Context(), code)
		require.Zero(t, id, name)
		require.ErrorIs(t, x.refusal(t, err, code), auth.ErrPlatform, name)
	}
	x.Behave(nil)
	_, err := x.Exchanger.Exchange(t.Context(), x.Code("anna"))
	require.NoError(t, err, "it works when the platform does")
}

func sendsOnce(t *testing.T, x ExchangerTarget) {
	var mu sync.Mutex
	requests := 0
	x.Behave(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		requests++
		mu.Unlock()
		Cut(w, r)
	})
	_, err := x.Exchanger.Exchange(t.Context(), x.Code("anna"))
	require.Error(t, err)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, 1, requests, "a code whose answer was lost is used up")
}

func timesOut(t *testing.T, x ExchangerTarget) {
	x.Behave(Hang(nil))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	code := x.Code("anna")
	id, err := x.Exchanger.Exchange(ctx, code)
	require.Zero(t, id)
	if !errors.Is(err, context.DeadlineExceeded) { // which counts as a timeout too
		require.ErrorIs(t, x.refusal(t, err, code), auth.ErrPlatformTimeout)
	}
}

func isCanceled(t *testing.T, x ExchangerTarget) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	x.Behave(func(w http.ResponseWriter, r *http.Request) {
		cancel()
		Hang(nil)(w, r)
	})
	id, err := x.Exchanger.Exchange(ctx, x.Code("anna"))
	require.Zero(t, id)
	require.ErrorIs(t, err, context.Canceled)
}

// refusal requires that err is an ExchangeError without secrets, and returns it.
func (x ExchangerTarget) refusal(t *testing.T, err error, code string) error {
	t.Helper()
	var e *auth.ExchangeError
	require.ErrorAs(t, err, &e)
	for _, secret := range append(x.Secrets, code) {
		require.NotContains(t, err.Error(), secret)
	}
	return err
}
