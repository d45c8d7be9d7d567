package provider_test

import (
	"crypto/tls"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/provider"
)

// failing is a transport that fails.
type failing struct{ error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.error }

func TestErrorsOfNetHTTP(t *testing.T) {
	t.Parallel()
	for want, failure := range map[string]error{
		"broken: malformed answer":   errors.New("broken: malformed HTTP response \"said\\nsaid\""),
		"perhaps it expects http://": tls.RecordHeaderError{Msg: "no record"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://gpu:8080/v1", nil)
		require.NoError(t, err)
		_, err = provider.Do("test", failing{failure}, req)
		require.ErrorIs(t, err, asr.ErrUnavailable)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "said")
	}
}
