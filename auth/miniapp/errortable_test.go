package miniapp_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
	"lessonkit.example/auth/authtest"
	"lessonkit.example/auth/miniapp"
)

// Every row of the platforms' error tables, and every answer that is none.
func TestErrorTable(t *testing.T) {
	t.Parallel()
	misconfigured, rejected := auth.ErrMisconfigured, auth.ErrCodeRejected
	for _, c := range []struct {
		rule    string
		dialect miniapp.Dialect
		mood    http.HandlerFunc
		kind    error
		code    string
		after   time.Duration
	}{
		{"-1 busy", miniapp.Query, authtest.ErrorCode(-1), auth.ErrPlatformBusy, "-1", 2 * time.Second},
		{"40002 grant type", miniapp.Query, authtest.ErrorCode(40002), misconfigured, "40002", 0},
		{"40013 app id", miniapp.Query, authtest.ErrorCode(40013), misconfigured, "40013", 0},
		{"40029 invalid code", miniapp.Query, authtest.ErrorCode(40029), rejected, "40029", 0},
		{"40125 secret", miniapp.Query, authtest.ErrorCode(40125), misconfigured, "40125", 0},
		{"40163 used code", miniapp.Query, authtest.ErrorCode(40163), rejected, "40163", 0},
		{"40164 our address", miniapp.Query, authtest.ErrorCode(40164), misconfigured, "40164", 0},
		{"40226 blocked user", miniapp.Query, authtest.ErrorCode(40226), auth.ErrBlocked, "40226", 0},
		{"41002 app id missing", miniapp.Query, authtest.ErrorCode(41002), misconfigured, "41002", 0},
		{"41004 secret missing", miniapp.Query, authtest.ErrorCode(41004), misconfigured, "41004", 0},
		{"41008 code missing", miniapp.Query, authtest.ErrorCode(41008), auth.ErrCodeMissing, "41008", 0},
		{"45011 too often", miniapp.Query, authtest.ErrorCode(45011), auth.ErrRateLimited, "45011", time.Minute},
		{"unknown code", miniapp.Query, authtest.ErrorCode(40099), auth.ErrPlatform, "40099", 0},
		{"-1 busy", miniapp.JSON, authtest.ErrorCode(-1), auth.ErrPlatformBusy, "-1", 2 * time.Second},
		{"40015 app id", miniapp.JSON, authtest.ErrorCode(40015), misconfigured, "40015", 0},
		{"40017 secret", miniapp.JSON, authtest.ErrorCode(40017), misconfigured, "40017", 0},
		{"40018 code", miniapp.JSON, authtest.ErrorCode(40018), rejected, "40018", 0},
		{"40019 anonymous code", miniapp.JSON, authtest.ErrorCode(40019), rejected, "40019", 0},
		{"error as before version 2", miniapp.JSON, authtest.Text(200, `{"errcode":40018,"errmsg":"bad code"}`),
			rejected, "40018", 0},
		{"no data", miniapp.JSON, authtest.Text(200, `{"err_no":0}`), auth.ErrPlatform, "", 0},
		{"openid beside data", miniapp.JSON, authtest.Text(200, `{"err_no":0,"openid":"o","data":{}}`),
			auth.ErrPlatform, "", 0},
		{"error beside data", miniapp.JSON, authtest.Text(200, `{"err_no":40018,"data":{"openid":"o"}}`), rejected,
			"40018", 0},
		{"error beside openid", miniapp.Query, authtest.Text(200, `{"errcode":40029,"openid":"o"}`), rejected, "40029",
			0},
		{"neither error nor openid", miniapp.Query, authtest.Text(200, `{"session_key":"k"}`), auth.ErrPlatform, "",
			0},
		{"empty openid", miniapp.Query, authtest.Text(200, `{"errcode":0,"openid":""}`), auth.ErrPlatform, "", 0},
		{"openid is a number", miniapp.Query, authtest.Text(200, `{"openid":12}`), auth.ErrPlatform, "", 0},
		{"openid in other letters", miniapp.Query, authtest.Text(200, `{"OpenID":"o"}`), auth.ErrPlatform, "", 0},
		{"openid with a line break", miniapp.Query, authtest.Text(200, `{"openid":"o\n"}`), auth.ErrPlatform, "", 0},
		{"openid too long", miniapp.Query, authtest.Text(200, `{"openid":"`+strings.Repeat("o", 257)+`"}`),
			auth.ErrPlatform, "", 0},
		{"error code is a string", miniapp.Query, authtest.Text(200, `{"errcode":"0","openid":"o"}`), auth.ErrPlatform,
			"", 0},
		{"endless body", miniapp.Query, authtest.Text(200, `{"openid":"o"`+strings.Repeat(" ", 64<<10)+`}`),
			auth.ErrPlatform, "", 0},
		{"status 500 with an openid", miniapp.Query, authtest.Text(500, `{"openid":"o"}`), auth.ErrPlatform, "", 0},
		{"cut connection", miniapp.Query, authtest.Cut, auth.ErrPlatform, "", 0},
		{"cut answer", miniapp.Query, authtest.CutShort, auth.ErrPlatform, "", 0},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			p := authtest.NewPlatform(t)
			p.Behave(c.mood)
			id, err := newClient(t, config(p, c.dialect)).Exchange(t.Context(), "code")
			require.Zero(t, id)
			e := requireKind(t, err, c.kind, c.code)
			require.Equal(t, c.after, e.RetryAfter())
			require.Equal(t, 1, p.Seen("code"))
		})
	}
}
