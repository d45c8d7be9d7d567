package miniapp

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
)

// FuzzAnswer feeds any status and body. What is accepted must be a whole JSON
// object with status 200, no error code, and the openid that came out;
// everything else is an ExchangeError.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		``, `{}`, `null`, `{"openid":"o"}`, `{"openid":"o","errcode":0}`, `{"openid":"o","errcode":40029}`,
		`{"errcode":-1,"errmsg":"busy"}`,
		`{"OPENID":"o"}`, `{"openid":"o","openid":""}`, `{"openid":"o"} x`, `{"openid":["o"]}`,
		`{"errcode":1e2,"openid":"o"}`,
		`{"errcode":9223372036854775808,"openid":"o"}`, "\xff\xfe", `{"openid":"\ud800"}`,
		`{"expires":1e700,"openid":"o"}`,
	} {
		f.Add(200, []byte(body))
	}
	f.Add(500, []byte(`{"openid":"o"}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		a, err := read(status, body)
		if err != nil {
			var e *auth.ExchangeError
			require.ErrorAs(t, err, &e, "%v", err)
			require.Zero(t, a)
			return
		}
		require.Equal(t, 200, status)
		require.LessOrEqual(t, len(body), maxAnswerBytes)
		require.True(t, json.Valid(body))
		var whole map[string]any
		// A number in an unused field may be too large for a float64.
		numbers := json.NewDecoder(bytes.NewReader(body))
		numbers.UseNumber()
		require.NoError(t, numbers.Decode(&whole))
		if whole["errcode"] != nil {
			n, err := whole["errcode"].(json.Number).Int64()
			require.NoError(t, err)
			require.Zero(t, n)
		}
		require.Equal(t, whole["openid"], a.subject)
		require.NotEmpty(t, a.subject)
	})
}
