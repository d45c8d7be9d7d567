package auth_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver

	"lessonkit.example/auth"
	"lessonkit.example/auth/sqlstore"
)

// exchange makes an Exchanger of a function.
type exchange func(ctx context.Context, code string) (auth.Identity, error)

func (f exchange) Exchange(ctx context.Context, code string) (auth.Identity, error) {
	return f(ctx, code)
}

// everybody takes every code, for the user of the code's own name.
func everybody(_ context.Context, code string) (auth.Identity, error) {
	return auth.Identity{Platform: "miniapp", AppID: "app", Subject: code}, nil
}

func openStore(t testing.TB) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "auth.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.Migrate(t.Context()))
	return s
}

func newService(t testing.TB, c auth.Config) *auth.Service {
	t.Helper()
	if c.Store == nil {
		c.Store = openStore(t)
	}
	s, err := auth.New(c)
	require.NoError(t, err)
	return s
}

func TestUsedCodesAreRememberedForFiveMinutes(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{
		"taken":    nil,
		"rejected": &auth.ExchangeError{Kind: auth.ErrCodeRejected},
		"lost":     &auth.ExchangeError{Kind: auth.ErrPlatform},
		"timeout":  &auth.ExchangeError{Kind: auth.ErrPlatformTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			calls := 0
			e := exchange(func(ctx context.Context, code string) (auth.Identity, error) {
				calls++
				if answer != nil {
					return auth.Identity{}, answer
				}
				return everybody(ctx, code)
			})
			s := newService(t, auth.Config{Now: func() time.Time { return now }, Exchanger: e})
			_, err := s.Login(t.Context(), "code")
			require.ErrorIs(t, err, answer)
			now = now.Add(5*time.Minute - time.Microsecond)
			_, err = s.Login(t.Context(), "code")
			require.ErrorIs(t, err, auth.ErrCodeRejected)
			require.Equal(t, 1, calls, "a used code was sent to the platform again")
			now = now.Add(time.Microsecond)
			_, err = s.Login(t.Context(), "code")
			require.ErrorIs(t, err, answer)
			require.Equal(t, 2, calls)
		})
	}
}

func TestACallerWhoLeavesDoesNotStopTheExchange(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	synctest.Test(t, func(t *testing.T) {
		e := exchange(func(ctx context.Context, code string) (auth.Identity, error) {
			select {
			case <-time.After(3 * time.Second):
				return everybody(ctx, code)
			case <-ctx.Done():
				return auth.Identity{}, ctx.Err()
			}
		})
		s := newService(t, auth.Config{Store: store, Exchanger: e})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := s.Login(ctx, "code")
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
		synctest.Wait()
		login, err := s.Login(t.Context(), "code")
		require.NoError(t, err, "the second caller lost the code to the first one's leaving")
		require.NotEmpty(t, login.Token)
		wg.Wait()
	})
}

func TestAnExchangeThatHangsTimesOut(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	synctest.Test(t, func(t *testing.T) {
		e := exchange(func(ctx context.Context, _ string) (auth.Identity, error) {
			<-ctx.Done()
			return auth.Identity{}, fmt.Errorf("asking: %w", ctx.Err())
		})
		s := newService(t, auth.Config{Store: store, Exchanger: e})
		start := time.Now()
		_, err := s.Login(t.Context(), "code")
		require.ErrorIs(t, err, auth.ErrPlatformTimeout)
		require.Equal(t, 8*time.Second, time.Since(start))
	})
}

func TestExchangersAreNotTrusted(t *testing.T) {
	t.Parallel()
	good := auth.Identity{Platform: "p", AppID: "a", Subject: "s"}
	change := func(f func(*auth.Identity)) exchange {
		return func(context.Context, string) (auth.Identity, error) {
			id := good
			f(&id)
			return id, nil
		}
	}
	for rule, e := range map[string]exchange{
		"no platform":          change(func(id *auth.Identity) { id.Platform = "" }),
		"no subject":           change(func(id *auth.Identity) { id.Subject = "" }),
		"subject too long":     change(func(id *auth.Identity) { id.Subject = strings.Repeat("s", 257) }),
		"control character":    change(func(id *auth.Identity) { id.Subject = "s\x00" }),
		"space":                change(func(id *auth.Identity) { id.AppID = "a b" }),
		"not UTF-8":            change(func(id *auth.Identity) { id.Subject = "\xff" }),
		"long union id":        change(func(id *auth.Identity) { id.UnionID = strings.Repeat("s", 257) }),
		"development platform": change(func(id *auth.Identity) { id.Platform = "development" }),
		"untyped error": func(context.Context, string) (auth.Identity, error) {
			return good, errors.New("boom")
		},
		"panic": func(context.Context, string) (auth.Identity, error) { panic("secret in a panic") },
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			s := newService(t, auth.Config{Exchanger: e, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			login, err := s.Login(t.Context(), "code")
			require.ErrorIs(t, err, auth.ErrPlatform)
			require.Zero(t, login)
			require.NotContains(t, log.String()+err.Error(), "secret in a panic")
		})
	}
}

func TestMalformedCodesCostNoExchange(t *testing.T) {
	t.Parallel()
	s := newService(t, auth.Config{Exchanger: exchange(func(context.Context, string) (auth.Identity, error) {
		t.Error("the code was sent")
		return auth.Identity{}, nil
	})})
	_, err := s.Login(t.Context(), "")
	require.ErrorIs(t, err, auth.ErrCodeMissing)
	for _, code := range []string{"ä", "a\n", "a\x7f", strings.Repeat("a", 2049)} {
		_, err := s.Login(t.Context(), code)
		require.ErrorIs(t, err, auth.ErrCodeRejected, "%q", code)
	}
}

func TestNamesOfDevicesArePrintableAndShort(t *testing.T) {
	t.Parallel()
	s := newService(t, auth.Config{})
	for name, want := range map[string]string{
		"Firefox, Windows": "Firefox, Windows", " 安\x00娜\u202e \xff": "安娜",
		strings.Repeat("好", 100): strings.Repeat("好", 85),
	} {
		d, _, err := s.StartDevice(t.Context(), name, "")
		require.NoError(t, err)
		require.Equal(t, want, d.Name)
	}
}

// Otherwise who has only the code could share the result of an exchange with its verifier.
func TestACodeWithAnotherVerifierIsAnotherExchange(t *testing.T) {
	t.Parallel()
	started, release := make(chan string, 2), make(chan struct{})
	s := newService(t, auth.Config{Exchanger: exchange(func(_ context.Context, code string) (auth.Identity, error) {
		started <- code
		<-release
		if code != "verifier code" {
			return auth.Identity{}, &auth.ExchangeError{Kind: auth.ErrCodeRejected}
		}
		return auth.Identity{Platform: "p", Subject: "anna"}, nil
	})})
	errs := map[string]chan error{"verifier code": make(chan error, 1), "stolen code": make(chan error, 1)}
	for code, err := range errs {
		go func() {
			_, e := s.Login(t.Context(), code)
			err <- e
		}()
		require.Equal(t, code, <-started)
	}
	close(release)
	require.NoError(t, <-errs["verifier code"])
	require.ErrorIs(t, <-errs["stolen code"], auth.ErrCodeRejected)
}

func TestLoginWithoutExchanger(t *testing.T) {
	t.Parallel()
	s := newService(t, auth.Config{})
	_, err := s.Login(t.Context(), "code")
	require.ErrorIs(t, err, auth.ErrNotConfigured)
	require.False(t, s.LoginConfigured())
}

func TestLoginIsNotConfiguredWhileThePlatformRefusesTheCredentials(t *testing.T) {
	t.Parallel()
	var answer error
	var log strings.Builder
	e := exchange(func(ctx context.Context, code string) (auth.Identity, error) {
		if answer != nil {
			return auth.Identity{}, answer
		}
		return everybody(ctx, code)
	})
	s := newService(t, auth.Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), Exchanger: e})
	for i, step := range []struct {
		answer     error
		configured bool
	}{
		{nil, true},
		{&auth.ExchangeError{Kind: auth.ErrMisconfigured, PlatformCode: "40125"}, false},
		{&auth.ExchangeError{Kind: auth.ErrPlatformTimeout}, false},
		{&auth.ExchangeError{Kind: auth.ErrCodeRejected}, true},
		{&auth.ExchangeError{Kind: auth.ErrMisconfigured}, false},
		{nil, true},
		{&auth.ExchangeError{Kind: auth.ErrPlatform}, true},
	} {
		answer = step.answer
		_, err := s.Login(t.Context(), fmt.Sprint("code-", i))
		require.ErrorIs(t, err, step.answer)
		require.Equal(t, step.configured, s.LoginConfigured(), "step %d", i)
	}
	require.Contains(t, log.String(), "level=ERROR")
	require.Contains(t, log.String(), "platform code 40125")
}

func TestAServiceNeedsAStore(t *testing.T) {
	t.Parallel()
	_, err := auth.New(auth.Config{})
	require.ErrorContains(t, err, "Store is nil")
}

func signIn(t *testing.T, s *auth.Service) auth.Login {
	t.Helper()
	login, err := s.Login(t.Context(), rand.Text())
	require.NoError(t, err)
	return login
}

func TestConcurrentUseOfACodeIsOneExchange(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		s := newService(t, auth.Config{Store: store, Exchanger: exchange(
			func(ctx context.Context, code string) (auth.Identity, error) {
				calls.Add(1)
				time.Sleep(time.Second)
				if code == "blocked" {
					return auth.Identity{}, &auth.ExchangeError{Kind: auth.ErrBlocked}
				}
				return everybody(ctx, code)
			})})
		var tokens sync.Map
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				login, err := s.Login(t.Context(), "code")
				require.NoError(t, err)
				_, shared := tokens.LoadOrStore(login.Token, true)
				require.False(t, shared, "two callers share a token")
			})
			wg.Go(func() {
				_, err := s.Login(t.Context(), "blocked")
				require.ErrorIs(t, err, auth.ErrBlocked)
			})
		}
		wg.Wait()
		require.EqualValues(t, 2, calls.Load())
	})
}

func TestSessionsOfAUserAreCapped(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := newService(t, auth.Config{
		Now: func() time.Time { return now },
		Exchanger: exchange(func(context.Context, string) (auth.Identity, error) {
			return auth.Identity{Platform: "p", Subject: "anna"}, nil
		}),
	})
	var tokens []string
	for i := range 15 {
		login, err := s.Login(t.Context(), fmt.Sprint("code-", i))
		require.NoError(t, err)
		tokens = append(tokens, login.Token)
		now = now.Add(time.Second)
	}
	for i, token := range tokens {
		_, err := s.Authenticate(t.Context(), token)
		require.Equal(t, i >= 5, err == nil, "session %d", i)
	}
}
