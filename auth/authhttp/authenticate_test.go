package authhttp_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
	"lessonkit.example/auth/authhttp"
)

// faulty is a store whose look-ups fail.
type faulty struct {
	auth.Store
	err error
}

func (f faulty) Session(context.Context, auth.TokenHash) (auth.Session, error) {
	return auth.Session{}, f.err
}

func TestErrorsOfAuthenticateAreAnswers(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	token := b.signIn(t, "anna")
	bearer := func(values ...string) http.Header { return http.Header{"Authorization": values} }
	for name, c := range map[string]struct {
		fault            error // of the store
		header           http.Header
		status           int
		code             string
		bearer, tryAgain string
	}{
		"no token":    {nil, nil, 401, "token_missing", "Bearer", ""},
		"wrong token": {nil, bearer("Bearer x"), 401, "token_invalid", `Bearer error="invalid_token"`, ""},
		"database down": {auth.Unavailable(errors.New("at 10.1.2.3")), bearer("Bearer " + token), 503,
			"database_unavailable", "", "5"},
		"database too slow": {context.DeadlineExceeded, bearer("Bearer " + token), 503, "database_unavailable", "",
			"5"},
		"client went away": {context.Canceled, bearer("Bearer " + token), 503, "request_canceled", "", "1"},
		"fault of the store": {errors.New("syntax error at 10.1.2.3"), bearer("Bearer " + token), 500,
			"internal_error", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := b.service
			if c.fault != nil {
				var err error
				service, err = auth.New(auth.Config{Store: faulty{b.store, c.fault}})
				require.NoError(t, err)
			}
			_, err := authhttp.Authenticate(service)(t.Context(), c.header)
			var answer interface {
				huma.StatusError
				huma.HeadersError
				Permanent() bool
			}
			require.ErrorAs(t, err, &answer)
			require.Equal(t, c.status, answer.GetStatus())
			require.Equal(t, c.status == 401, answer.Permanent())

			guarded := authhttp.Middleware(service)(notReached(t))
			pairs := []string{}
			for key, values := range c.header {
				for _, value := range values {
					pairs = append(pairs, key, value)
				}
			}
			r := do(t, guarded, http.MethodGet, "/?access_token="+token, "", pairs...)
			require.Equal(t, c.status, r.StatusCode)
			require.Equal(t, c.code, r.json["code"])
			require.Equal(t, c.bearer, r.Header.Get("WWW-Authenticate"))
			require.Equal(t, c.tryAgain, r.Header.Get("Retry-After"))
			require.Equal(t, "application/problem+json", r.Header.Get("Content-Type"))
			require.Equal(t, "no-store", r.Header.Get("Cache-Control"))
			require.NotContains(t, r.text, "10.1.2.3", "causes are not shown")
		})
	}
}
