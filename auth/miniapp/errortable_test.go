package miniapp_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
	"lessonkit.example/auth/authtest"
)

// Every row of the platform's error table, and every answer that is none.
func TestErrorTable(t *testing.T) {
	t.Parallel()
	misconfigured, rejected := auth.ErrMisconfigured, auth.ErrCodeRejected
	for _, c := range []struct {
		rule  string
		mood  http.HandlerFunc
		kind  error
		code  string
		after time.Duration
	}{
		{"-1 busy", authtest.ErrorCode(-1), auth.ErrPlatformBusy, "-1", 2 * time.Second},
		{"40002 grant type", authtest.ErrorCode(40002), misconfigured, "40002", 0},
		{"40013 app id", authtest.ErrorCode(40013), misconfigured, "40013", 0},
		{"40029 invalid code", authtest.ErrorCode(40029), rejected, "40029", 0},
		{"40125 secret", authtest.ErrorCode(40125), misconfigured, "40125", 0},
		{"40163 used code", authtest.ErrorCode(40163), rejected, "40163", 0},
		{"40164 our address", authtest.ErrorCode(40164), misconfigured, "40164", 0},
		{"40226 blocked user", authtest.ErrorCode(40226), auth.ErrBlocked, "40226", 0},
		{"41002 app id missing", authtest.ErrorCode(41002), misconfigured, "41002", 0},
		{"41004 secret missing", authtest.ErrorCode(41004), misconfigured, "41004", 0},
		{"41008 code missing", authtest.ErrorCode(41008), auth.ErrCodeMissing, "41008", 0},
		{"45011 too often", authtest.ErrorCode(45011), auth.ErrRateLimited, "45011", time.Minute},
		{"unknown code", authtest.ErrorCode(40099), auth.ErrPlatform, "40099", 0},
		{"error beside openid", authtest.Text(200, `{"errcode":40029,"openid":"o"}`), rejected, "40029", 0},
		{"neither error nor openid", authtest.Text(200, `{"session_key":"k"}`), auth.ErrPlatform, "", 0},
		{"empty openid", authtest.Text(200, `{"errcode":0,"openid":""}`), auth.ErrPlatform, "", 0},
		{"openid is a number", authtest.Text(200, `{"openid":12}`), auth.ErrPlatform, "", 0},
		{"openid in other letters", authtest.Text(200, `{"OpenID":"o"}`), auth.ErrPlatform, "", 0},
		{"openid with a line break", authtest.Text(200, `{"openid":"o\n"}`), auth.ErrPlatform, "", 0},
		{"openid too long", authtest.Text(200, `{"openid":"`+strings.Repeat("o", 257)+`"}`), auth.ErrPlatform, "", 0},
		{"error code is a string", authtest.Text(200, `{"errcode":"0","openid":"o"}`), auth.ErrPlatform, "", 0},
		{"endless body", authtest.Text(200, `{"openid":"o"`+strings.Repeat(" ", 64<<10)+`}`), auth.ErrPlatform, "", 0},
		{"status 500 with an openid", authtest.Text(500, `{"openid":"o"}`), auth.ErrPlatform, "", 0},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			p := authtest.NewPlatform(t)
			p.Behave(c.mood)
			id, err := newClient(t, config(p)).Exchange(t.Context(), "code")
			require.Zero(t, id)
			e := requireKind(t, err, c.kind, c.code)
			require.Equal(t, c.after, e.RetryAfter())
			require.Equal(t, 1, p.Seen("code"))
		})
	}
}
