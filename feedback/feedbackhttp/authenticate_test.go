package feedbackhttp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/feedbackhttp"
)

func TestAnswersToErrorsOfAuthenticate(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for name, c := range map[string]struct {
		err              error
		status           int
		code             string
		bearer, tryAgain string
	}{
		"any error": {errors.New("expired"), 401, "unauthorized", "Bearer", ""},
		"nobody":    {nil, 401, "unauthorized", "Bearer", ""},
		"permanent": {fault{permanent: true, after: time.Second}, 401, "unauthorized", "Bearer", ""},
		"temporary": {fmt.Errorf("find: %w", fault{after: 5 * time.Second}), 503, "sign_in_unavailable",
			"", "5"},
		"temporary, time unknown": {temporary{}, 503, "sign_in_unavailable", "", ""},
		"a status of its own": {huma.ErrorWithHeaders(huma.Error403Forbidden("blocked"),
			http.Header{"Retry-After": {"7"}}), 403, "forbidden", "", "7"},
		"a status, and temporary": {errors.Join(fault{}, huma.Error403Forbidden("blocked")), 403, "forbidden", "",
			""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			var log bytes.Buffer
			one := *e
			one.document = nil // it has not the statuses of the embedding program
			one.t, one.handler = t, feedbackhttp.Handler(feedbackhttp.Config{Service: e.svc,
				Logger: slog.New(slog.NewTextHandler(&log, nil)),
				Authenticate: func(context.Context, http.Header) (uuid.UUID, error) {
					calls++
					return uuid.Nil, c.err
				}})
			// The caller is identified before the request is judged.
			a := one.do("POST", "/profiles?unknown=1", "{broken").want(c.status, c.code)
			require.Equal(t, c.bearer, a.Header().Get("WWW-Authenticate"))
			require.Equal(t, c.tryAgain, a.Header().Get("Retry-After"))
			require.NotContains(t, a.Body.String(), "10.0.0.1", "causes are not shown")
			require.Equal(t, c.err == nil, strings.Contains(log.String(), "the zero UUID"))
			require.Equal(t, 1, calls)
		})
	}
}

type temporary struct{}

func (temporary) Error() string   { return "away" }
func (temporary) Permanent() bool { return false }
